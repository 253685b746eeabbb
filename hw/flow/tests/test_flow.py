"""What the flow reads out of files and tools' output.

python -m unittest discover hw/flow/tests
"""

import dataclasses
import sys
import tempfile
import tomllib
import unittest
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ecp5
import elaborate
import fanout
import osu018
import parts
import picture
import report
import synthesise
import units
import xilinx

TWO = """
[[unit]]
name = "a"
tables = "a"
  [[unit.configuration]]
  name = "small"
  parameters = { Width = 8 }
  ecp5 = { parameters = { Tile = 16 } }
  [[unit.configuration]]
  name = "large"
  ecp5 = { instead = "small", reason = "too large" }
  osu018 = "would take hours"
[[unit]]
name = "b"
top = "b_top"
  [[unit.configuration]]
  name = "only"
"""


class Units(unittest.TestCase):
    """hw/units.toml."""

    def test_configurations_say_what_each_step_does(self) -> None:
        small, large, only = units.parse(TWO)
        self.assertEqual((small.parameters, small.has_tables, small.top), ({"Width": 8}, True, "a"))
        self.assertEqual((only.top, only.has_tables, only.parameters), ("b_top", False, {}))
        self.assertTrue(small.ecp5.runs and small.osu018.runs and only.ecp5.runs)
        self.assertEqual(small.ecp5.parameters, {"Tile": 16})
        self.assertFalse(large.ecp5.runs or large.osu018.runs)
        self.assertEqual(large.ecp5.instead, "small")
        self.assertEqual(large.osu018.reason, "would take hours")

    def test_what_makes_no_sense_is_refused(self) -> None:
        for wrong in (
            "{ whole = true }",
            '{ instead = "small" }',
            '{ instead = "none", reason = "x" }',
            "3",
            "{ seed = 1 }",
        ):
            with self.assertRaises(ValueError, msg=wrong):
                units.parse(TWO.replace('"would take hours"', wrong))

    def test_a_list_of_names_selects(self) -> None:
        listed = units.parse(TWO)
        for names, chosen in (("all", 3), ("a", 2), ("b,a/small", 2), ("a/large", 1)):
            self.assertEqual(len(units.select(listed, names)), chosen, names)
        with self.assertRaisesRegex(ValueError, "no unit or configuration 'c'.*its units are a, b"):
            units.select(listed, "a, c")
        with self.assertRaisesRegex(ValueError, "a has small, large"):
            units.select(listed, "a/medium")

    def test_what_stands_for_another_is_synthesised_with_it(self) -> None:
        small, large, only = listed = units.parse(TWO)
        self.assertEqual(synthesise.due([large], listed, "ecp5"), [small])
        self.assertEqual(synthesise.due([large, small, only], listed, "ecp5"), [small, only])
        self.assertEqual(synthesise.due([large], listed, "osu018"), [])
        self.assertEqual(synthesise.due([large], listed, "xilinx"), [large])

    def test_a_comment_makes_no_other_circuit(self) -> None:
        """But any other character does."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "unit.sv"
            path.write_text("// What it is.\nmodule unit;\n\n  wire a; // why\nendmodule\n")
            self.assertEqual(units.code(path), "module unit;\n  wire a;\nendmodule\n")

    def test_the_file_itself_is_understood_and_its_modules_are_there(self) -> None:
        for configuration in units.configurations():
            files = [path.name for path in units.sources_of(configuration.top)]
            self.assertIn(f"{configuration.top}.sv", files)
        names = [path.name for path in units.sources_of("ntt_cg")]
        self.assertEqual(names[0], "butterfly_ctgs_pkg.sv")
        self.assertIn("prim_mul.sv", names)
        self.assertNotIn("mod_mul_shoup.sv", names)


class Netlists(unittest.TestCase):
    """What Yosys, nextpnr and OpenSTA print."""

    def test_resources_are_added_up_and_unknown_cells_refused(self) -> None:
        cells = {"LUT6": 3, "SRL16E": 2, "RAM64M8": 1, "CARRY8": 9, "FDRE": 5, "FDCE": 1, "DSP48E2": 4}
        found = xilinx.resources(cells | {"RAMB18E2": 3, "RAMB36E2": 2, "URAM288": 1})
        self.assertEqual(found, {"lut": 13, "ff": 6, "dsp": 4, "bram": 3.5, "bram18": 3, "uram": 1})
        with self.assertRaisesRegex(ValueError, "NEWCELL"):
            xilinx.resources({"NEWCELL": 1})

    def test_multipliers_are_counted_by_size(self) -> None:
        cell = "  cell $mul $mul$f.sv:1$2\n    parameter \\A_WIDTH {}\n    parameter \\B_WIDTH {}\n    connect \\A \\a\n  end\n"
        dump = cell.format(17, 26) + cell.format(26, 17) + cell.format(6, 15)
        self.assertEqual(xilinx.multipliers(dump), {"15x6": 1, "26x17": 2})

    def test_a_part_becomes_a_box_for_each_set_of_its_parameters(self) -> None:
        def cell(width: int) -> dict[str, Any]:
            # CountWidth is a localparam: an instance cannot set it.
            given = {"Width": f"{width:032b}", "Depth": f"{4:032b}", "CountWidth": f"{3:032b}"}
            ports = {"in_data_i": "input", "count_o": "output"}
            bits = {"in_data_i": list(range(2, 2 + width)), "count_o": [100, 101, 102]}
            return {"type": "prim_fifo", "parameters": given, "port_directions": ports, "connections": bits}

        own = {"type": "$and", "parameters": {}, "connections": {}}
        cells = {"a": cell(8), "b": cell(16), "c": cell(8), "d": own}
        netlist = {"modules": {"top": {"cells": cells}, "prim_fifo": {}}}
        boxes = parts.box(netlist, "top", {"prim_fifo"})
        self.assertEqual(cells["a"]["type"], cells["c"]["type"])
        self.assertNotEqual(cells["a"]["type"], cells["b"]["type"])
        self.assertEqual((cells["d"]["type"], cells["a"]["parameters"]), ("$and", {}))
        self.assertEqual(netlist["modules"].keys(), {"top", *boxes})
        self.assertEqual(len(netlist["modules"][cells["b"]["type"]]["ports"]["in_data_i"]["bits"]), 16)
        wide = boxes[cells["b"]["type"]]
        self.assertEqual({name: parts.number_of(value) for name, value in wide.parameters}, {"Width": 16, "Depth": 4})

    def test_a_sum_counts_each_instance_at_every_depth(self) -> None:
        outer, inner = parts.Part("b", (("Width", "8'b1000"),)), parts.Part("c", (("File", '"/one.hex"'),))
        found = {
            "a": ({"LUT6": 1}, {}, Counter({outer: 2})),
            "b": ({"LUT6": 10, "DSP48E2": 1}, {"26x17": 1}, Counter({inner: 3})),
            "c": ({"FDRE": 100}, {}, Counter()),
        }
        small, *_ = units.parse(TWO)
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(parts, "mapped", lambda one, *_: found[one.module]),
        ):
            cost = parts.cost(dataclasses.replace(small, parts=("b", "c")), {}, Path(folder))
        self.assertEqual((cost["lut"], cost["dsp"], cost["ff"], cost["multipliers"]), (21, 2, 600, {"26x17": 2}))
        rows = [(one["module"], one["number"], one["parameters"]) for one in cost["parts"]]
        self.assertEqual(rows, [("a", 1, {"Width": 8}), ("b", 2, {"Width": 8}), ("c", 6, {})])

    def test_a_kept_result_has_the_tables_of_the_configuration_that_asks(self) -> None:
        made = []

        def map_once(part: parts.Part, *_: object) -> parts.Mapped:
            made.append(part)
            return {"LUT6": 7}, {}, Counter({parts.Part("prim_rom", part.parameters): 2})

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with mock.patch.object(parts, "RESULTS", folder), mock.patch.object(parts, "_map", map_once):
                for table in ("one.hex", "two.hex"):
                    (folder / table).write_text("0\n")
                    part = parts.Part("tfhe_cmux", (("OuterFile", f'"{folder / table}"'),))
                    own, _, inside = parts.mapped(part, {"prim_rom"}, folder)
                    expected = Counter({parts.Part("prim_rom", part.parameters): 2})
                    self.assertEqual((own, inside), ({"LUT6": 7}, expected))
        self.assertEqual(len(made), 1)

    def test_every_part_is_a_module_of_its_engine(self) -> None:
        for configuration in units.configurations():
            files = {path.stem for path in units.sources_of(configuration.top)}
            self.assertLessEqual(set(configuration.parts), files - {configuration.top}, str(configuration))

    def test_a_netlist_that_does_not_fit_says_why(self) -> None:
        self.assertIsNone(ecp5.too_large({"MULT18X18D": 156, "DP16KD": 208}))
        self.assertIn("157 MULT18X18D", str(ecp5.too_large({"MULT18X18D": 157})))

    def test_fmax_is_that_of_the_only_clock(self) -> None:
        self.assertEqual(ecp5.fmax({"fmax": {"$glbnet$clk_i": {"achieved": 130.4567, "constraint": 12.0}}}), 130.5)
        with self.assertRaises(ValueError):
            ecp5.fmax({"fmax": {}})

    def test_areas_memories_and_slack_are_read(self) -> None:
        liberty = 'cell (NAND2X1) {\n  cell_footprint : "nand2x1";\n  area : 24;\n  pin(A) { }\n}\ncell (INVX1) {\n area : 16;\n}'
        area = osu018.areas(liberty)
        self.assertEqual(area, {"NAND2X1": 24, "INVX1": 16})
        self.assertEqual(osu018.equivalents({"NAND2X1": 2, "INVX1": 3}, area), 4)
        with self.assertRaises(KeyError):
            osu018.equivalents({"XNOR9": 1}, area)
        memory = "  cell \\prim_rom \\u_rom\n    parameter \\Depth 16\n    parameter \\Width {}\n    connect \\clk_i \\clk_i\n  end\n"
        bits = "32'00000000000000000000000000100011"
        self.assertEqual(osu018.memory_bits(memory.format(4) + memory.format(bits)), 16 * 4 + 16 * 35)
        self.assertEqual(osu018.slack("  1000.0  data required time\n  987.6543   slack (MET)\n"), 987.6543)
        with self.assertRaises(ValueError):
            osu018.slack("No paths found.")

    def test_a_bounded_unit_has_a_register_at_every_port_but_clock_and_reset(self) -> None:
        only = units.parse(TWO)[2]
        listed = [("clk_i", "input", 1), ("rst_ni", "input", 1), ("x_i", "input", 8), ("y_o", "output", 4)]
        text = elaborate.bounded(only, {"Width": 8}, {"File": Path("/t.hex")}, listed)
        for wanted in (
            "x_i_bound <= x_i;",
            "y_o <= y_o_bound;",
            ".rst_ni(rst_ni)",
            'b_top #(.Width(8), .File("/t.hex"))',
        ):
            self.assertIn(wanted, text)


class Report(unittest.TestCase):
    """The summary."""

    def test_new_entries_replace_old_ones_and_what_is_gone_is_left_out(self) -> None:
        listed = ["b/1", "a/1", "a/2"]
        old = [{"case": case, "lut": lut} for lut, case in enumerate(("a/1", "a/2", "gone/1"), 1)]
        entries = report.merged(old, [{"case": "a/2", "lut": 9}, {"case": "b/1", "lut": 4}], listed)
        self.assertEqual([(one["case"], one["lut"]) for one in entries], [("b/1", 4), ("a/1", 1), ("a/2", 9)])

    def test_the_page_has_a_line_for_every_configuration_in_each_of_its_tables(self) -> None:
        one = {name: 1 for name in ("cycles", "latency", "bound", "ratio", "lut", "ff", "dsp", "bram", "uram")}
        about = {
            "ecp5_about": {"configuration": "other", "reason": "too large"},
            "osu018_about": {},
            "xilinx_about": {},
        }
        gates = {"gate_equivalents": 1234567, "memory_bits": 0, "osu018_critical_path_ns": 6.5}
        mapped = {"multipliers": {"26x17": 4}, "ecp5_fmax_mhz": {"1": 130.5, "2": 131.0}, "ecp5_used": {"DP16KD": 2}}
        named = {"unit": "a", "configuration": "small", "tool_versions": {"pyosys": "0.70"}}
        text = report.table([one | about | gates | mapped | named])
        self.assertEqual(text.count("| `a` | `small` |"), 4)
        for wanted in ("130.5 / 131.0 | 0 | 2 |", "4 of 26 × 17", "1,234,567", "`other`: too large", "- pyosys 0.70"):
            self.assertIn(wanted, text)
        self.assertNotIn("Older sources", text)
        self.assertIn("- `a/small`", report.table([one | about | gates | mapped | named], ["a/small"]))
        # Another configuration's speed says nothing of this one's size.
        self.assertIn(
            "130.5 / 131.0 | – | – |", report.table([one | about | gates | mapped | named | {"ecp5_used": None}])
        )


class Pictures(unittest.TestCase):
    """Waveforms."""

    def test_every_signal_is_in_the_sources(self) -> None:
        """A picture is drawn seldom: what the RTL no longer has would be found out late."""
        configurations = {str(one): one for one in units.configurations()}
        for drawn in tomllib.loads(picture.PICTURES.read_text())["picture"]:
            sources = units.circuit(configurations[drawn["case"]].top).decode()
            panels = drawn["panel"]
            names = [*drawn["start"], *(name for one in panels for name in [*one.get("start", []), *one["signals"]])]
            for name in names:
                signal = name.removesuffix(":x").split(".")[-1]
                self.assertRegex(sources, rf"\b{signal}\b", f"{drawn['case']}: {name}")

    def test_values_become_stretches_and_shares(self) -> None:
        self.assertEqual(picture.runs([1, 1, 0, 3]), [(0, 2, 1), (2, 1, 0), (3, 1, 3)])
        self.assertEqual(picture.shares([1, 1, 0, 0, 1, 0], 3), [1, 0, 0.5])

    def test_long_hexadecimal_values_are_shortened(self) -> None:
        self.assertEqual(picture.fitting("0123456789abcdef", 16 * picture.DIGIT + 2), "0123456789abcdef")
        self.assertEqual(picture.fitting("0123456789abcdef", 9 * picture.DIGIT + 2), "012345…ef")
        # Too narrow for a shortened value: the panel writes none.
        self.assertEqual(picture.fitting("0123456789abcdef", 4 * picture.DIGIT), "0123456789abcdef")

    def test_a_panel_begins_at_a_start_of_its_own(self) -> None:
        class Fixed:
            """Cycle n is n; the starts are cycles 3 and 5."""

            def start(self, names: list[str]) -> int:
                return {"valid_i": 3, "gs_i": 5}[names[0]]

            def trace(self, name: str, first: int, cycles: int) -> picture.Trace:
                return picture.Trace(name, 8, list(range(first, first + cycles)))

        panels = [{"title": "t", "first": 1, "cycles": 2, "signals": ["x_i"]} for _ in range(2)]
        panels[1]["start"] = ["gs_i"]
        drawn = picture.draw({"start": ["valid_i"], "panel": panels}, Fixed())  # type: ignore[arg-type]
        self.assertEqual([f">{value}</text>" in drawn for value in (4, 5, 6, 7)], [True, True, True, True])
        self.assertNotIn(">8</text>", drawn)

    def test_a_panel_writes_values_where_there_is_room(self) -> None:
        bus = picture.Trace("stage_q", 4, [0] * 50 + [11] * 50)
        drawn, _ = picture.panel("t", [bus, picture.Trace("valid", 1, [0, 1] * 50)], 0, frozenset({"stage_q"}), 0)
        self.assertIn(">b<", drawn)
        self.assertEqual(drawn.count('class="bus"'), 2)
        crowded, _ = picture.panel("t", [picture.Trace("row", 9, list(range(5000)))], 0, frozenset(), 0)
        self.assertEqual((crowded.count('class="bus"'), crowded.count('class="busy"')), (0, 1))


class FanOut(unittest.TestCase):
    """Copies of registers, and trees of buffers."""

    @staticmethod
    def hanging(module: dict[str, Any]) -> dict[int, int]:
        """How many inputs hang on each bit."""
        counts: dict[int, int] = {}
        for cell in module["cells"].values():
            for pin in ("A", "B", "D"):
                for bit in cell["connections"].get(pin, []):
                    counts[bit] = counts.get(bit, 0) + 1
        return counts

    @staticmethod
    def wide() -> dict[str, Any]:
        """600 inputs on the bit 2."""
        cells = {
            f"gate{i}": {"type": "NAND2X1", "connections": {"A": [2], "B": [3 + i], "Y": [1000 + i]}}
            for i in range(600)
        }
        return {"cells": cells, "netnames": {"q": {"bits": [2]}}}

    def test_an_input_feeds_a_tree_of_buffers(self) -> None:
        """600 inputs: two levels."""
        module = self.wide()
        fanout.relieve(module)
        self.assertLessEqual(max(self.hanging(module).values()), fanout.LIMIT)
        driven_by = {
            cell["connections"]["Y"][0]: cell["connections"]["A"][0]
            for cell in module["cells"].values()
            if cell["type"] == fanout.BUFFER
        }
        for i in range(600):
            bit = module["cells"][f"gate{i}"]["connections"]["A"][0]
            levels = 0
            while bit != 2:
                bit, levels = driven_by[bit], levels + 1
            self.assertEqual(levels, 2)

    def test_a_register_is_copied_and_so_is_the_one_before_it(self) -> None:
        """38 registers for 600 inputs, three for those."""
        module = self.wide()
        cells = module["cells"]
        cells["behind"] = {"type": "DFFPOSX1", "connections": {"CLK": [9000], "D": [9001], "Q": [2]}}
        cells["before"] = {"type": "DFFSR", "connections": {"CLK": [9000], "D": [9002], "Q": [9001], "R": [9003]}}
        fanout.relieve(module)
        counts = self.hanging(module)
        self.assertLessEqual(max(counts.values()), fanout.LIMIT)
        registers = {
            cell["connections"]["Q"][0]: cell["connections"]["D"][0]
            for cell in cells.values()
            if cell["type"].startswith(fanout.REGISTER)
        }
        self.assertEqual((len(registers), counts[9002]), (38 + 3, 3))
        self.assertNotIn(fanout.BUFFER, {cell["type"] for cell in cells.values()})
        for i in range(600):
            self.assertEqual(registers[registers[cells[f"gate{i}"]["connections"]["A"][0]]], 9002)

    def test_an_inverter_grows_with_its_load_and_counts_by_its_size(self) -> None:
        """600 inputs: 37 inverters of the largest size and one of half, two of them on a register."""
        module = self.wide()
        cells = module["cells"]
        cells["inverter"] = {"type": "INVX1", "connections": {"A": [9001], "Y": [2]}}
        cells["register"] = {"type": "DFFPOSX1", "connections": {"CLK": [9000], "D": [9002], "Q": [9001]}}
        fanout.relieve(module)
        types = [cell["type"] for cell in cells.values()]
        self.assertEqual((types.count("INVX8"), types.count("INVX4"), types.count("DFFPOSX1")), (37, 1, 19))
        self.assertLessEqual(max(self.hanging(module).values()), fanout.LIMIT)

    def test_a_register_that_keeps_itself_has_buffers(self) -> None:
        """A copy would hang on it, and want another copy."""
        module = self.wide()
        module["cells"]["register"] = {"type": "DFFPOSX1", "connections": {"CLK": [9000], "D": [2], "Q": [2]}}
        fanout.relieve(module)
        self.assertLessEqual(max(self.hanging(module).values()), fanout.LIMIT)


if __name__ == "__main__":
    unittest.main()
