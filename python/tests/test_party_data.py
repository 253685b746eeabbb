"""Data files of a party: CSV, Parquet, arrays; labels and standardised columns."""

import csv
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from party_setting import write_csv
from pyarrow import parquet
from sklearn.preprocessing import StandardScaler

import ciphermill as cm
from ciphermill.federated._party import data
from ciphermill.federated._party.data import Scaling, Selection, load


def selection(path: Path, **options: Any) -> Selection:
    return Selection(**({"file": path, "id": None, "label": None, "features": None, "max_bytes": 1 << 30} | options))


finite = st.floats(allow_nan=False, allow_infinity=False)
cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells, finite, finite), min_size=2, max_size=20, unique_by=lambda row: row[0]), st.booleans())
def test_csv_files_are_read_in_every_bit(tmp_path_factory: pytest.TempPathFactory, rows: Any, mark: bool) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8-sig" if mark else "utf-8", newline="") as file:
        csv.writer(file).writerows([("a, b", 'the "id"', "c"), *((first, key, second) for key, first, second in rows)])
    table = load(selection(path, id='the "id"'))
    assert table.features == ("a, b", "c")
    assert table.ids == [key for key, _, _ in rows]
    assert table.values.tobytes() == np.array([values for _, *values in rows]).tobytes()
    assert load(selection(path, features=("c",))).values.tolist() == [[second] for _, _, second in rows]


def test_lines_may_end_in_every_way(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        path = tmp_path / "a.csv"
        path.write_text(end.join(["a,b", "1,2", "3,4"]), newline="")
        assert load(selection(path)).values.tolist() == [[1, 2], [3, 4]]


MALFORMED = [
    ("", "the file is empty"),
    ("a,b\n1,2\n", "the file has 1 rows; use 2 to"),
    ("a,a\n1,2\n3,4\n", 'two columns have the name "a"'),
    ("a,\n1,2\n3,4\n", "column 2 has no name"),
    ("a,b\n1,2\n3\n", "line 3 has 1 cells; use 2"),
    ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells; use 2"),
    ("a,b\n1,2\n\n3,4\n", "line 3 is empty; remove it"),
    ("a,b\n1,2\n,4\n", 'line 3, column "a": the cell is empty; use a number'),
    ("a,b\n1,2\n3,nan\n", 'line 3, column "b": the cell is not a number but NaN'),
    ("a,b\n1,2\n3,-Infinity\n", 'line 3, column "b": the cell is infinite'),
    ("a,b\n1,2\n3,1e999\n", 'line 3, column "b": the cell is beyond the range of binary64'),
    ("a,b\n1,2\n3, 4\n", 'line 3, column "b": the cell has spaces'),
    ("a,b\n1,2\n3,1_000\n", 'line 3, column "b": the cell is not a number; use decimal digits'),
    ("a,b\n1,2\n3,٣\n", 'line 3, column "b": the cell is not a number'),
    ("a,b\n1,2\n3,0x10\n", 'line 3, column "b": the cell is not a number'),
    ('a,b\n1,2\n3,"1,5"\n', 'line 3, column "b": the cell is not a number'),
    ('a,b\n1,2\n3,"4"x\n', "line 3 is not CSV"),
    ('a,b\n1,2\n3,"4\n', "line 3 is not CSV"),
    ('a,b\n"1\n",2\n3,4\n', 'line 3, column "a": the cell has spaces'),
    ("a,b\n1,2\n3," + "1" * 200_000 + "\n", "line 3 is not CSV"),
    ("a,b\n1,2\n3,\udcff\n", "line 3 is not UTF-8"),
    ("a;b\n1;2\n3;4\n", 'line 2, column "a;b": the cell is not a number'),
]


@pytest.mark.parametrize(("content", "words"), MALFORMED, ids=[words for _, words in MALFORMED])
def test_malformed_csv_names_line_and_column(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(cm.ParameterError) as raised:
        load(selection(path))
    assert str(raised.value).startswith(f"{path}: {words}")


def test_messages_show_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who,a\nsecret-1,2\nsecret-1,3\n")
    with pytest.raises(cm.ParameterError, match="the ids of lines 2 and 3 are equal") as raised:
        load(selection(path, id="who"))
    assert "secret" not in str(raised.value)
    path.write_text("who,a\nx,2\ny,secret\n")
    with pytest.raises(cm.ParameterError, match='line 3, column "a"') as raised:
        load(selection(path, id="who"))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("identifier", "words"), [("", "the id is empty"), ("é" * 129, "the id has more than 256 bytes"), ("é" * 128, "")]
)
def test_ids_have_1_to_256_bytes(tmp_path: Path, identifier: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"who,a\nx,2\n{identifier},3\n")
    if not words:
        assert load(selection(path, id="who")).ids == ["x", identifier]
        return
    with pytest.raises(cm.ParameterError, match=f'line 3, column "who": {words}'):
        load(selection(path, id="who"))


def test_sizes_are_bounded_before_memory_is_allocated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * 5000)
    with pytest.raises(cm.MemoryLimitError, match="has 20004 bytes, the limit is max_bytes=20003"):
        load(selection(path, max_bytes=20003))
    with pytest.raises(cm.MemoryLimitError, match="the columns take .* bytes in memory, the limit is max_bytes=30000"):
        load(selection(path, max_bytes=30000))
    assert load(selection(path, max_bytes=80000)).rows == 5000
    monkeypatch.setattr(data, "MAX_LINE", 1000)
    assert load(selection(path)).rows == 5000
    path.write_text(",".join(f"c{column}" for column in range(500)))
    with pytest.raises(cm.ParameterError, match="a row has more than 1000 characters"):
        load(selection(path))
    monkeypatch.setattr(data, "MAX_ROWS", 4000)
    path.write_text("a,b\n" + "1,2\n" * 4001)
    with pytest.raises(cm.ParameterError, match="the file has 4001 rows or more; use at most 4000"):
        load(selection(path))


def test_other_kinds_of_files_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a.csv"
    folder.mkdir()
    pipe = tmp_path / "b.csv"
    os.mkfifo(pipe)
    for path in (folder, pipe, Path("/dev/null")):
        with pytest.raises(cm.ParameterError, match="is not a regular file"):
            load(selection(path))


def test_formats_have_the_same_rows(tmp_path: Path, rng: np.random.Generator) -> None:
    values, ids, labels = rng.normal(size=(50, 3)), [f"k{row}" for row in range(50)], ["yes", "no"] * 25
    names = ["a", "b", "c"]
    write_csv(
        tmp_path / "a.csv",
        ["k", *names, "l"],
        ([k, *row, s] for k, row, s in zip(ids, values.tolist(), labels, strict=True)),
    )
    columns = {"k": ids, **dict(zip(names, values.T, strict=True)), "l": labels}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet", row_group_size=7)
    arrays: dict[str, Any] = {name: np.asarray(column) for name, column in columns.items()}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    for ending in ("csv", "parquet", "npz"):
        table = load(selection(tmp_path / f"a.{ending}", id="k", label="l"))
        assert table.features == ("a", "b", "c")
        assert table.values.tobytes() == values.tobytes()
        assert table.ids == ids
        assert table.labels is not None
        signs, classes = table.labels.signs(None)
        assert classes == ("no", "yes")
        assert signs.tolist() == [1.0, -1.0] * 25
        assert table.labels.signs("no")[0].tolist() == [-1.0, 1.0] * 25
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    table = load(selection(tmp_path / "a.npy"))
    assert (table.features, table.values.tobytes()) == (("0", "1", "2"), values.tobytes())
    np.savez(tmp_path / "b.npz", X=values, k=np.arange(50))
    table = load(selection(tmp_path / "b.npz", id="k", features=("X.2", "X.0")))
    assert (table.values.tolist(), table.ids) == (values[:, [2, 0]].tolist(), list(range(50)))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1.0, None]}, 'row 2, column "a": the cell is empty'),
        ({"a": [1.0, float("nan")]}, 'row 2, column "a": the cell is NaN'),
        ({"a": [float("inf"), 1.0]}, 'row 1, column "a": the cell is infinite'),
        ({"a": ["1", "2"]}, 'the column "a" has the type string; use numbers'),
        ({"a": [[1], [2]]}, 'the column "a" has the type list<.*; use numbers'),
        ({"a": [1, 2], "k": [0.5, 1.5]}, 'the column "k" has the type double; use texts or integers'),
        ({"a": [1, 2], "k": ["x", None]}, "row 2: the id is empty"),
        ({"a": [1, 2], "k": ["x", "x"]}, "the ids of rows 1 and 2 are equal"),
        ({"a": [1, 2], "k": [1, 2], "l": ["x", None]}, "row 2: the label is missing"),
        (
            {"a": [1, 2, 3], "k": [1, 2, 3], "l": ["x", "y", "z"]},
            "the column of labels has 3 different values; use two",
        ),
        ({"a": [1, 2], "k": [1, 2], "l": [1, 1]}, "the column of labels has 1 different values; use two"),
    ],
)
def test_malformed_parquet_names_row_and_column(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(cm.ParameterError, match=words):
        load(selection(path, id="k" if "k" in columns else None, label="l" if "l" in columns else None))


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": np.zeros(100_000)}), path)
    with pytest.raises(
        cm.MemoryLimitError, match="the columns take 800000 bytes in memory, the limit is max_bytes=100000"
    ):
        load(selection(path, max_bytes=100_000))
    parquet.write_table(pyarrow.table({"a": np.arange(1000.0)}), path)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:-1], whole[: len(whole) // 2], whole[:-300] + bytes(300)):
        path.write_bytes(content)
        with pytest.raises(cm.ParameterError, match=r"a\.parquet"):
            load(selection(path))


def test_types_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {
        "a": pyarrow.array([1, 2, 1], pyarrow.int8()),
        "b": pyarrow.array([True, False, True]),
        "c": pyarrow.array([0.5, 1.5, 0.5], pyarrow.float32()).dictionary_encode(),
        "k": pyarrow.array(["x", "y", "z"]).dictionary_encode(),
        "l": pyarrow.array([True, False, True]),
    }
    parquet.write_table(pyarrow.table(columns), path)
    table = load(selection(path, id="k", label="l"))
    assert table.values.tolist() == [[1, 1, 0.5], [2, 0, 1.5], [1, 1, 0.5]]
    assert table.ids == ["x", "y", "z"]
    assert table.labels is not None
    assert table.labels.signs(None)[1] == (False, True)
    assert table.labels.signs(False)[1] == (True, False)


def npy(header: str, body: bytes = b"") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not one of NumPy"),
        (b"\x93NUMPY\x09\x00", "is not one of NumPy"),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 8), }"),
            "its header announces 70368744177664",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2), }", bytes(16)),
            "has the type float64 and 2 axes",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }", bytes(17)), "has 17 bytes"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 1), }", bytes(16)), "has the type object"),
        (npy("{'descr': '<c16', 'fortran_order': False, 'shape': (2, 1), }", bytes(32)), "has the type complex128"),
        (npy("{'descr': '<U0', 'fortran_order': False, 'shape': (2, 1), }"), "has the type <U0"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1, 1), }", bytes(16)), "3 axes"),
        (npy("__import__('os').abort()"), "is not one of NumPy"),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }", np.array([1.0, np.nan]).tobytes()),
            "row 2, .* is NaN",
        ),
    ],
)
def test_malformed_arrays_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(cm.ParameterError, match=words):
        load(selection(path))
    archive = tmp_path / "a.npz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.npy", content)
    with pytest.raises(cm.ParameterError, match=words):
        load(selection(archive))


def test_malformed_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros((2, 100_000)))
    with pytest.raises(cm.MemoryLimitError, match="the columns take 16.* bytes"):
        load(selection(path, max_bytes=1 << 16))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(cm.ParameterError, match="is not an archive of NumPy"):
        load(selection(path))
    path.write_bytes(whole[:100] + bytes(byte ^ 0xFF for byte in whole[100:108]) + whole[108:])
    with pytest.raises(cm.ParameterError, match=r"a\.npz: "):
        load(selection(path))
    np.savez(path, a=np.zeros(2), b=np.zeros(3))
    with pytest.raises(cm.ParameterError, match="the columns have 2 to 3 rows; use one length"):
        load(selection(path))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("a.npy", bytes(100))
    with pytest.raises(cm.ParameterError, match="the compression 12 is not supported"):
        load(selection(path))
    with pytest.raises(cm.ParameterError, match=r"a \.npy file has no ids"):
        np.save(tmp_path / "a.npy", np.zeros((2, 2)))
        load(selection(tmp_path / "a.npy", id="k"))


@pytest.mark.parametrize(
    ("cells", "positive", "classes", "signs"),
    [
        (["9", "10"], None, (9, 10), [-1, 1]),
        (["9", "10"], 9, (10, 9), [1, -1]),
        (["1", "1.0", "-1"], None, (-1, 1), [1, 1, -1]),
        (["0", "1e0"], "1", (0, 1), [-1, 1]),
        (["no", "yes"], None, ("no", "yes"), [-1, 1]),
        (["9", "x"], None, (9, "x"), [-1, 1]),
        (["1.5", "2.5"], 1.5, (2.5, 1.5), [1, -1]),
    ],
)
def test_labels(tmp_path: Path, cells: list[str], positive: Any, classes: Any, signs: list[int]) -> None:
    path = tmp_path / "a.csv"
    write_csv(path, ["a", "l"], ([row, cell] for row, cell in enumerate(cells)))
    labels = load(selection(path, label="l")).labels
    assert labels is not None
    found, named = labels.signs(positive)
    assert named == classes
    assert found.tolist() == signs


def test_labels_are_two_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for cells, words in (
        (["1", "1"], "the column of labels has 1 different values; use two"),
        (["1", "2", "3"], "the column of labels has 3 different values; use two"),
        (["1", ""], "line 3: the label is missing"),
        ([str(cell) for cell in range(99)], "the column of labels has more than 16 different values"),
    ):
        write_csv(path, ["a", "l"], ([row, cell] for row, cell in enumerate(cells)))
        with pytest.raises(cm.ParameterError, match=words):
            load(selection(path, label="l"))


def test_standardised_columns_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    values = rng.normal(size=(9000, 4)) * [1.0, 1e6, 1e-6, 1.0] + [0.0, 1e3, 5.0, 0.0]
    values[:, 3] = 0.1
    scaling = Scaling.of(values, "abcd")
    np.testing.assert_allclose(scaling.apply(values), StandardScaler().fit_transform(values), rtol=1e-9, atol=1e-9)
    assert (scaling.mean[3], scaling.scale[3]) == (0.1, 1.0)
    assert not scaling.apply(values)[:, 3].any()
    assert data.constant_columns(values, list("abcd")) == ["d"]
    values[0, 1] = 1e200
    with pytest.raises(cm.RangeError, match='the column "b" has values above 1e150'):
        Scaling.of(values, "abcd")
