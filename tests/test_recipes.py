"""Fills, with arguments and without: what they hold, what follows from what, and what cannot be."""

import json
import re

import numpy as np
import pytest
from outcomes import altered
from support import ROOT, case_of, read_kernel

from runner.errors import UsageError
from runner.kernel.arrays import DTYPES, FILLS, fill, glibc_rand
from runner.kernel.extra_inputs import exact_set
from runner.kernel.inputs import contents, second_contents

PATH = ROOT / "tests" / "kernels" / "recipes" / "k.yaml"


@pytest.fixture
def write(tmp_path):
    """Write the kernel k with a piece of its YAML replaced, and the file; give the YAML's path."""

    def call(old="", new=""):
        path = altered(PATH, tmp_path / "kernel", (old, new))
        (path.parent / "data").mkdir(exist_ok=True)
        np.save(path.parent / "data" / "f.npy", np.arange(4, dtype=np.float32).reshape(2, 2))
        return path

    return call


def test_each_recipe_holds_what_it_says(write):
    """Numbers of a range, rows that are sorted, sparse rows whose columns differ, and what other arrays give."""
    case = case_of(read_kernel(write()))
    a = contents(case)
    assert (a["constant"] == 2.5).all()
    assert set(a["range"]) == set(range(-3, 4))
    assert a["fractions"].min() >= 2
    assert a["fractions"].max() < 2.5
    assert (abs(a["normal"].mean() - 5) < 0.2, abs(a["normal"].std() - 2) < 0.2) == (True, True)
    assert (a["one_hot"].sum(axis=1) == 1).all()
    assert sorted(a["permutation"]) == list(range(50))
    assert (np.diff(a["sorted"], axis=1) >= 0).all()
    lengths = np.diff(a["start"])
    assert (a["start"][0], a["start"][-1], lengths.min() >= 0, lengths.max() <= 15) == (0, 60, True, True)
    rows = np.split(a["column"], a["start"][1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    assert a["formula"].tolist() == [[10 * i + j + 4 - (4 * i + j) for j in range(4)] for i in range(3)]
    assert np.array_equal(a["doubled"], 2 * a["range"].astype(np.float32) + a["odd"][:, 1])
    assert a["file"].tolist() == [[0, 1], [2, 3]]
    assert all(np.array_equal(x, contents(case)[n]) for n, x in a.items())


def test_other_inputs_are_of_the_same_kind_and_fit_together(write):
    """The second trial and the exact inputs: arrays that are made from others follow them."""
    case = case_of(read_kernel(write()))
    own = contents(case)
    other = {**own, **second_contents(case)}
    changed = {n for n in own if not np.array_equal(own[n], other[n])}
    assert changed == set(own) - {"constant", "formula", "file", "out"}
    assert np.array_equal(other["doubled"], 2 * other["range"].astype(np.float32) + other["odd"][:, 1])
    assert np.array_equal(other["copy"], other["column"])
    assert all((np.diff(row) > 0).all() for row in np.split(other["column"], other["start"][1:-1]))
    exact = exact_set(case, 1, sided=False).contents(case, own)
    assert set(exact["odd"].ravel()) <= {n / 4 for n in range(-4, 5)} - {0}
    assert np.array_equal(exact["doubled"], 2 * exact["range"].astype(np.float32) + exact["odd"][:, 1])
    assert set(exact["fractions"].ravel()) <= {2 + n / 16 for n in range(8)}, "1, 2 and 3 do not lie within 2 to 2.5"
    assert (exact["fractions"].min(), exact["fractions"].max()) == (2, 2.4375)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{range: [-3, limit]}", "{range: [limit, 4]}", "fill: expected two numbers, the first below the second, not 4 and 4"),
        ("{range: [-3, limit]}", "{range: [-3, 400]}", r"fill: \d+ is not a valid int8"),
        ("{range: [-3, limit]}", "{range: 4}", "fill: range: expected 2 numbers, not 1"),
        ("{range: [-3, limit]}", "{rnage: [1, 4]}", "fill: expected one of constant, range, normal, .* not '{'rnage'"),
        ("{row_pointers: [60, 15]}", "{row_pointers: [60, 2]}", "fill: expected 0 to 40 entries, not 60: 20 rows"),
        ("[start, 15]", "[begin, 15]", "fill: columns: 'begin' is not an array"),
        ("fill: column}", "fill: copy + 1}", "argument 'copy': fill: it depends on itself"),
        ("fill: column}", "fill: column / 7}", "fill: .* is not a valid int32"),
        ("fill: column}", "fill: 'sorted[0]'}", r"fill: 'sorted\[0\]' has the shape \(50,\), the array \(60,\)"),
        ("fill: column}", "fill: columm + 1}", "fill: 'columm \\+ 1' names 'columm', which is unknown"),
        ("fill: column}", "fill: columm}", "fill: 'columm' is not a fill; allowed: zeros, .* a .npy file"),
        ("data/f.npy", "g.npy", "fill: the file 'g.npy' was not found in "),
        ("data/f.npy", "../../g.npy", "fill: the file '../../g.npy' was not found in "),
    ],
)  # fmt: skip
def test_what_cannot_be_filled_is_one_sentence(write, old, new, message):
    """It names the argument or its place, and what is allowed."""
    with pytest.raises(UsageError) as e:
        contents(case_of(read_kernel(write(old, new))))
    assert re.search(message, str(e.value)), str(e.value)
    assert "\n" not in str(e.value)


def test_a_file_of_another_shape_makes_no_case(write):
    """Its shape and its type are those of the array."""
    told = case_of(read_kernel(write("[2, 2]", "[2, 3]"))).excluded
    assert told == "file: f.npy holds float32 of the shape (2, 2), the array is float32 of (2, 3)"
    told = case_of(read_kernel(write("float32, shape: [2, 2]", "int32, shape: [2, 2]"))).excluded
    assert "holds float32 of the shape (2, 2), the array is int32" in told


def test_a_sweep_keeps_its_files_and_a_changed_one_is_another_source(write, runner):
    """The file lies in sources/ beside the kept YAML, from which the sweep is repeated; its digest tells it apart."""
    path = write()
    lines = [
        line
        for line in path.read_text().splitlines()
        if "{name:" not in line or "name: file" in line or "name: out" in line
    ]
    path.write_text("\n".join(lines).replace("full(0, 1)", "full(2, 1)").replace("float32", "int32"))
    path.with_suffix(".cu").write_text('extern "C" __global__ void k(const int* a, int* out) { out[0] = a[2]; }\n')
    digests = []
    for number in (2, 5):
        np.save(path.parent / "data" / "f.npy", np.full((2, 2), number, np.int32))
        runner("--config-dir", str(path.parents[1]), "kernel=k", "device=cpu", f"hydra.sweep.dir=run{number}")
        folder = path.parents[1] / f"run{number}"
        rows = json.loads((folder / "verdict.json").read_text())["cases"]
        assert [row["status"] for row in rows] == ["ok" if number == 2 else "mismatch"]
        records = "".join(path.read_text() for path in sorted(folder.rglob("*.json")))
        digests.append(re.findall(r'"f.npy":\s*"(\w{12})"', records)[0])
    assert len(set(digests)) == 2
    kept = path.parents[1] / "run2" / "sources" / "conf"
    assert np.load(kept / "kernel" / "data" / "f.npy").tolist() == [[2, 2], [2, 2]]
    again = runner("run2", "hydra.sweep.dir=again", module="runner.repeat")
    assert again.code == 0, again.err
    assert "ok" in (path.parents[1] / "again" / "results.csv").read_text()


def test_rand_is_that_of_the_gnu_library():
    """The numbers are those that an unseeded `rand()` prints (these were printed by a C program, glibc 2.36)."""
    numbers = glibc_rand(1_000_001)
    assert list(numbers[:5]) == [1804289383, 846930886, 1681692777, 1714636915, 1957747793]
    assert numbers[1_000_000] == 771126689
    tutorial = fill("c_rand", (2**24,), DTYPES["int32"], 0, "in")  # whose sum is in the listing of tutorial 000
    assert tutorial.sum(dtype=np.int64) == 2139353471


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_follows_from_what_it_is_given(name):
    """The same name, shape, dtype, seed and label give the same bytes, in the asked-for shape, in each type."""
    for dtype in DTYPES.values():
        first, second = (fill(name, (3, 5), dtype, 7, "in") for _ in range(2))
        assert first.dtype == dtype.numpy
        assert first.shape == ((3, 5, dtype.numbers) if dtype.numbers > 1 else (3, 5))
        assert first.nbytes == 15 * dtype.itemsize
        assert first.tobytes() == second.tobytes()


def test_random_differs_by_seed_and_by_array():
    """Another seed, or another array of the same kernel, gets other numbers, over the type's whole range: sums overflow."""
    a, b, c = (fill("random", (10_000,), DTYPES["int32"], s, n) for s, n in ((0, "a"), (1, "a"), (0, "b")))
    assert (a != b).any()
    assert (a != c).any()
    assert a.min() < -(2**30)
    assert a.max() > 2**30


def test_the_other_fills_are_what_they_say():
    """Ones, zeros, counting from 0, from 1, and backwards; or the numbers themselves, in the array's own type."""
    dtype = DTYPES["float32"]
    made = {name: list(fill(name, (3,), dtype, 0, "in")) for name in ("zeros", "ones", "index", "count", "reverse")}
    assert made == {"zeros": [0, 0, 0], "ones": [1, 1, 1], "index": [0, 1, 2], "count": [1, 2, 3], "reverse": [2, 1, 0]}
    assert list(fill((0.0, 4 / 105), (2,), dtype, 0, "in")) == [0, np.float32(4 / 105)]
    large = (2**53 + 1, -(2**63))  # beyond a double's 53 bits
    assert list(fill(large, (2,), DTYPES["int64"], 0, "in")) == list(large)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00", None])
def test_a_damaged_file_is_one_sentence(write, content):
    """Without NumPy's own words, which advise to unpickle it. `None` stands for a file that ends early."""
    path = write("[2, 2]", "[2, 2]")
    (file,) = path.parent.rglob("f.npy")
    file.write_bytes(file.read_bytes()[:-4] if content is None else content)
    with pytest.raises(UsageError) as e:
        contents(case_of(read_kernel(path)))
    assert "f.npy: not a whole file of np.save with numbers" in str(e.value)
