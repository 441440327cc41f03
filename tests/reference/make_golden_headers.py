#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns tests/golden/*.json into C++ headers in tests/cpp/golden/, so tests need no JSON parser.

    python3 tests/reference/make_golden_headers.py            write the headers
    python3 tests/reference/make_golden_headers.py --check    exit 1 if a committed one is stale

Adding a file: one line in SOURCES. `records` suits {"name": [{flat record}, ...], ...}: it makes
one struct and one array per name. A file of another shape gets its own function from the parsed
JSON to the text of a header body; `field_types`, `struct_of` and `literal` are there to reuse.
Only the standard library is needed.
"""

import json
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$")


def kind(value):
    """C++ type of a JSON scalar; a string of digits is a number with more digits than a double."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "std::int64_t"
    if isinstance(value, float):
        return "double"
    if isinstance(value, str):
        return "long double" if NUMBER.match(value) else "const char*"
    raise TypeError(f"no C++ type for {value!r}: write a converter for this file")


def literal(value, cpp_type):
    if cpp_type == "bool":
        return "true" if value else "false"
    if cpp_type == "const char*":
        return json.dumps(value)
    if cpp_type == "std::int64_t":
        return f"{value}"
    text = repr(value) if isinstance(value, (int, float)) else value
    if not re.search(r"[.eE]", text):
        text += ".0"
    return text + ("L" if cpp_type == "long double" else "")


def field_types(rows):
    """Field name -> C++ type over all rows; a field with both integers and doubles is double."""
    types = {}
    for row in rows:
        for name, value in row.items():
            new = kind(value)
            old = types.setdefault(name, new)
            if old != new:
                if {old, new} != {"std::int64_t", "double"}:
                    raise TypeError(f"{name}: both {old} and {new}")
                types[name] = "double"
    return types


def struct_of(name, types):
    body = "".join(f"  {cpp_type} {field};\n" for field, cpp_type in types.items())
    return f"struct {name} {{\n{body}}};\n"


def records(document):
    """{"some_name": [rows]} -> struct SomeName and `inline constexpr SomeName some_name[]`.

    Rows with the same fields as an earlier name reuse its struct.
    """
    parts = []
    structs = {}
    for name, rows in document.items():
        if not rows:
            continue
        types = field_types(rows)
        struct = "".join(word.capitalize() for word in name.split("_"))
        lines = []
        for row in rows:
            if row.keys() != types.keys():
                raise TypeError(f"{name}: a row lacks {sorted(types.keys() - row.keys())}")
            lines.append("    {" + ", ".join(literal(row[f], types[f]) for f in types) + "},\n")
        array = f"inline constexpr {struct} {name}[] = {{\n{''.join(lines)}}};\n"
        first = structs.setdefault(tuple(types.items()), struct)
        definition = struct_of(struct, types) if first == struct else f"using {struct} = {first};\n"
        parts.append(definition + "\n" + array)
    return "\n".join(parts)


MECHANISM_NAMES = {
    "input_perturbation(C=I)": "independent",
    "output_perturbation(C=A)": "output",
    "tree_binary": "tree",
    "tree_honaker_streaming": "honaker",
    "sqrt_toeplitz": "square-root",
    "normalized_sqrt": "normalized-square-root",
}
PARAMETRISED_NAMES = {"BSR_p": "banded-square-root", "BISR_p": "banded-inverse-square-root"}
# Families whose best parameter was searched for, and its name.
SEARCHED = {"lambda_cgd_best": ("lambda-cgd", "lambda"), "nu_dpftrl_best": ("nu", "nu")}
# Names that `trees` turns into rows, and names with gamma, for which there is no family.
OTHER_NAMES = re.compile(r"tree_kary_(sub_)?k\d+|tree_honaker_full|gamma_BIFR_.*")


def parametrised(long_name):
    """BSR_p16 is ("BSR_p", "16")."""
    return re.match(r"(.*?)(\d*)$", long_name).groups()


def searched(long_name):
    """Family and parameter of a name such as nu_dpftrl_best_maxerr, if there are any."""
    return SEARCHED.get(long_name.rpartition("_")[0])


def becomes_row(long_name):
    prefix, digits = parametrised(long_name)
    return (long_name in MECHANISM_NAMES or (prefix in PARAMETRISED_NAMES and digits != "")
            or searched(long_name) is not None or OTHER_NAMES.fullmatch(long_name) is not None)


def require_known_mechanisms(document):
    """Fails for a name that would not become a row, so that its values cannot go untested."""
    unknown = sorted({name for table in document.values() for name in table
                      if not becomes_row(name)})
    if unknown:
        raise SystemExit(f"tests/golden/mechanisms.json: {', '.join(unknown)} would be tested by "
                         "nothing; in tests/reference/make_golden_headers.py, add each to "
                         "MECHANISM_NAMES for the defaults of a family, to PARAMETRISED_NAMES for a "
                         "number of bands, or to SEARCHED for the best value of a parameter")


def mechanisms(document):
    """{"n": {"long name": {"sens": ...}}} -> one flat table of the mechanisms that exist."""
    require_known_mechanisms(document)
    rows = [
        {
            "name": MECHANISM_NAMES[long_name],
            "num_steps": int(num_steps),
            "sensitivity": errors["sens"],
            "max_error": errors["maxerr"],
            "mean_error": errors["rmse"],
        }
        for num_steps, table in document.items()
        for long_name, errors in table.items()
        if long_name in MECHANISM_NAMES
    ]
    return records({"errors": rows, "parametrised": parametrised_mechanisms(document)})


def parametrised_mechanisms(document):
    """BSR_p16, BISR_p16, lambda_cgd_best_*, nu_dpftrl_best_*: name, parameter, rest of the row."""
    rows = []
    for num_steps, table in document.items():
        for long_name, errors in table.items():
            prefix, digits = parametrised(long_name)
            best = searched(long_name)
            if prefix not in PARAMETRISED_NAMES and not best:
                continue
            rows.append(
                {
                    "name": best[0] if best else PARAMETRISED_NAMES[prefix],
                    "num_steps": int(num_steps),
                    "parameter": errors[best[1]] if best else float(digits),
                    "is_best_max": long_name == "lambda_cgd_best_maxerr",
                    "sensitivity": errors["sens"],
                    "max_error": errors["maxerr"],
                    "mean_error": errors["rmse"],
                }
            )
    return rows


def with_lists(name, rows):
    """Rows with lists of numbers, as arrays padded with zeros to the longest list."""
    lists = {f for row in rows for f, value in row.items() if isinstance(value, list)}
    size = max(len(row[field]) for row in rows for field in lists)
    number = lambda value: literal(float(value), "double")
    scalars = [
        {f: v if f == "kind" else float(v) for f, v in row.items() if f not in lists}
        for row in rows
    ]
    types = field_types(scalars)
    struct = "".join(word.capitalize() for word in name.split("_"))
    arrays = "".join(f"  double {field}[{size}];\n" for field in sorted(lists))
    fields = struct_of(struct, types).replace("};\n", arrays + "};\n")
    lines = []
    for row, scalar in zip(rows, scalars):
        values = [literal(scalar[field], types[field]) for field in types]
        values += ["{" + ", ".join(map(number, row[field])) + "}" for field in sorted(lists)]
        lines.append("    {" + ", ".join(values) + "},\n")
    return f"{fields}\ninline constexpr {struct} {name}[] = {{\n{''.join(lines)}}};\n"


def toeplitz_coefficients(document):
    """Coefficients of (1-x)^(-1/2) and (1-x)^(1/2) to 25 digits, as doubles."""
    rows = [
        {"square_root": float(f), "inverse": float(g)}
        for f, g in zip(document["sqrt"], document["inv_sqrt"])
    ]
    return records({"coefficients": rows})


def momentum(document):
    """The square-root factorization and the optimum of the mean objective."""
    rows = [
        {"num_steps": row["n"], "momentum": row["beta"], "decay": row["alpha"]}
        | {"max_error": row["sqrt"]["maxerr"], "mean_error": row["sqrt"]["rmse"]}
        | {"sensitivity": row["sqrt"]["sens"], "second": row["coefs_first"][1]}
        for row in document
    ]
    optima = [
        {"num_steps": row["n"], "momentum": row["beta"], "decay": row["alpha"]}
        | {"mean": row["opt_rmse"]}
        for row in document
    ]
    return records({"square_root": rows, "optimum": optima})


def trees(document):
    """The trees of mechanisms.json: of any arity, and with least squares on the whole tree."""
    rows = []
    for num_steps, table in document.items():
        for long_name, errors in table.items():
            arity = re.match(r"tree_kary_(sub_)?k(\d+)$", long_name)
            if arity:
                name = "tree-k"
            elif long_name == "tree_honaker_full":
                name = "honaker-full"
            else:
                continue
            rows.append(
                {
                    "name": name,
                    "num_steps": int(num_steps),
                    "arity": int(arity[2]) if arity else 0,
                    "subtractive": bool(arity and arity[1]),
                    "sensitivity": errors["sens"],
                    "max_error": errors["maxerr"],
                    "mean_error": errors["rmse"],
                }
            )
    return records({"nodes": rows})


def bounds(document):
    """Uses only the table of values; the rest of the file is remarks."""
    return records({"table": document["table"]})


def sensitivity(document):
    """Three tables with the same fields; the counterexamples are in the tests themselves."""
    tables = {}
    for table in ("closed", "brute", "fixed_epoch"):
        tables[table] = [
            {
                "encoder": row["C"],
                "n": row["n"],
                "b": row["b"],
                "k": row.get("true_k", row["k"]),
                "sensitivity": row["sens"],
                "bound": row.get("upper_bound", row["sens"]),
            }
            for row in document[table]
        ]
    return records(tables)


def flat(value):
    """Formats lists as one text, with numbers separated by blanks and rows by semicolons."""
    if not isinstance(value, list):
        return value
    return (" ; " if isinstance(value[0], list) else " ").join(map(flat, value))


def texts(document):
    """Tables of texts, or {"table": {"name": {fields}}}; a field missing from a row is empty."""
    parts = []
    for name, table in document.items():
        if isinstance(table, dict):
            table = [{"name": row_name} | row for row_name, row in table.items()]
        fields = list(dict.fromkeys(field for row in table for field in row if field != "note"))
        struct = "".join(word.capitalize() for word in name.split("_"))
        lines = ("".join("    {" + ", ".join(json.dumps(flat(row.get(f, ""))) for f in fields)
                         + "},\n" for row in table))
        parts.append(struct_of(struct, dict.fromkeys(fields, "const char*"))
                     + f"\ninline constexpr {struct} {name}[] = {{\n{lines}}};\n")
    return "\n".join(parts)


# golden/<file>.json -> cpp/golden/<key>_golden.hpp, namespace golden::<key>; the file is <key>
# except for those in FILES.
SOURCES = {
    "active": records,
    "active_endless": records,
    "active_windows": records,
    "added_noise": records,
    "blt_closed_form": lambda rows: with_lists("buffers", rows),
    "blt_normalized": lambda rows: with_lists("buffers", rows),
    "blt_rational": lambda rows: records({"errors": rows}),
    "bounds": bounds,
    "certificates": records,
    "exact_entry": records,
    "families": records,
    "linear_queries": records,
    "mechanisms": mechanisms,
    "momentum": momentum,
    "optima": records,
    "privacy": records,
    "privacy_oracle": records,
    "safe_side": records,
    "sensitivity": sensitivity,
    "sensitivity_oracle": records,
    "penalty": records,
    "pure": records,
    "simultaneous": records,
    "toeplitz_coefficients": toeplitz_coefficients,
    "trees": trees,
    "weights": records,
    "stacks": records,
    "windows": records,
    "vectors_decoders": texts,
    "vectors_noise": texts,
    "vectors_records": texts,
    "vectors_releases": texts,
    "vectors_states": texts,
}
FILES = {"trees": "mechanisms"}


def header(name, convert):
    # vectors_<file> is tests/vectors/<file>.json.
    folder, source = "golden", FILES.get(name, name)
    if name.startswith("vectors_"):
        folder, source = name.split("_")
    document = json.loads((TESTS / folder / f"{source}.json").read_text())
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Generated by tests/reference/make_golden_headers.py from "
        f"tests/{folder}/{source}.json.\n"
        "// clang-format off\n#pragma once\n\n#include <cstdint>\n\n"
        f"namespace golden::{name} {{\n\n{convert(document)}\n}}  // namespace golden::{name}\n"
    )


def main():
    stale = []
    for name, convert in SOURCES.items():
        target = TESTS / "cpp" / "golden" / f"{name}_golden.hpp"
        text = header(name, convert)
        if "--check" in sys.argv[1:]:
            if not target.exists() or target.read_text() != text:
                stale.append(str(target.relative_to(TESTS.parent)))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    if stale:
        print("stale, run tests/reference/make_golden_headers.py: " + ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
