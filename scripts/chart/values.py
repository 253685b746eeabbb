"""The table of values in the README of the chart.

    values.py            # writes it, between the marks
    values.py --check    # exit status 1 if the page has another table

Meanings and ranges are those of values.schema.json, defaults those of values.yaml.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parent.parent.parent / "deploy" / "chart"
PAGE = CHART / "README.md"
BEGIN, END = "<!-- values -->", "<!-- end of values -->"
Json = dict[str, Any]


def rows(schema: Json, defaults: Any, path: str = "") -> Iterator[str]:
    """The rows of the fields of an object, at every depth."""
    required = schema.get("required", [])
    for name, field in schema["properties"].items():
        here = f"{path}{name}"
        given = defaults.get(name) if isinstance(defaults, dict) else None
        if "properties" in field:
            yield from rows(field, given, f"{here}.")
            continue
        default = code(given) if given is not None else "required" if name in required else "absent"
        yield f"| `{here}` | {default} | {allowed(field)} | {field['description']} |"
        items = field.get("items", {})
        if "properties" in items:
            yield from rows(items, None, f"{here}[].")


def code(value: Any) -> str:
    return f"`{json.dumps(value) if not isinstance(value, str) else value}`"


def allowed(field: Json) -> str:
    """The values that a field accepts, in words."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "integer":
        return f"{field['minimum']} to {field['maximum']}"
    if "exclusiveMinimum" in field:
        return f"above {field['exclusiveMinimum']}, at most {field['maximum']:g}"
    if "allOf" in field:
        return {"quantity": "a quantity", "label": "a label", "name": "a name"}[
            field["allOf"][0]["$ref"].rpartition("/")[2]
        ]
    if isinstance(field["type"], list):
        return "a text, a number or a boolean"
    return {"boolean": "`true`, `false`", "string": "a text", "array": "a list", "object": "a map"}[field["type"]]


def table() -> str:
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    head = ["| value | default | allowed | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows(schema, defaults)])


def main() -> int:
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{PAGE.name} lacks the mark {BEGIN} or {END}")
        return 1
    made = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if sys.argv[1:] == ["--check"]:
        if made != page:
            print("the table of values in deploy/chart/README.md is old; run scripts/chart.sh values")
        return int(made != page)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
