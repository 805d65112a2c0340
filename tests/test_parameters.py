import pytest

from runner.errors import UsageError
from runner.kernel.declaration import VOCABULARY, Kind, canonical, value_text, variables


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("16Mi", 2**24), ("16M", 16_000_000), ("2.5Ki", 2560), ("2**24", 2**24), ("1<<24", 2**24), (16777216, 2**24),
        ("16_777_216", 2**24), ("0x10", 16), ("0b101", 5), (1e6, 10**6), ("1e6", 10**6), ("16*1024", 16384),
        ("4096x8192", "4096x8192"), (" 64 ", 64), ("2**20 - 1", 2**20 - 1),
    ],
)  # fmt: skip
def test_a_size_is_read_in_every_form(text, elements):
    """Every documented way to write a size gives its one canonical form."""
    assert canonical("size", Kind.SIZE, text) == elements


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", "010"), ("size", "2.5"), ("size", "1e99"), ("size", "-1"), ("size", "9**9**9"), ("size", True),
        ("size", [1, 2]), ("size", {}), ("size", "4x0"), ("size", "__import__('os')"), ("size", "1.2.3"), ("size", ""),
        ("block", "32xx16"), ("block", "256 threads"), ("block", -32), ("block", "1,2"), ("block", "8x8x2x2"), ("block", "32x"),
        ("size", "16Ti"), ("size", "0.3Ki"), ("size", "2**63"), ("size", "1//0"), ("mask", "full"), ("block", True), ("mask", "0x1ffffffff"),
        ("mask", -1), ("mask", "0xfg"), ("width", "wide"), ("width", 1.5), ("dtype", "float16x"), ("dtype", 4),
        ("fill", "../../etc/passwd"), ("fill", ""), ("delta", "2**64"), ("unroll", None),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(name, value):
    """A value that cannot be read is refused with its name, itself, and what is expected."""
    with pytest.raises(UsageError) as raised:
        canonical(name, VOCABULARY[name], value)
    told = str(raised.value)
    assert told.startswith(f"{name}=")
    assert ": expected " in told
    assert "\n" not in told


def test_hexadecimal_is_never_zero_by_something():
    """`0x10` is 16 threads, not 0 by 10."""
    assert canonical("block", Kind.BLOCK, "0x10") == "16"


@pytest.mark.parametrize(("value", "text"), [("32x1", "32"), (256, "256"), ("2**8", "256"), ("32x16", "32x16")])
def test_a_block_has_one_form(value, text):
    """A block of one row is written without the row."""
    assert canonical("block", Kind.BLOCK, value) == text


def test_expressions_see_the_parts_of_a_value():
    """`block` and `size` also give their dimensions."""
    assert variables("block", Kind.BLOCK, "32x16") == {"block": 512, "block_x": 32, "block_y": 16, "block_z": 1}
    assert variables("size", Kind.SIZE, "3x5") == {"size": 15, "rows": 3, "cols": 5}


def test_values_are_written_as_people_write_them():
    """Masks are shown in hexadecimal, powers of two as such."""
    assert value_text(Kind.MASK, 255) == "0x000000ff"
    assert value_text(Kind.SIZE, 2**24) == "2**24"
    assert value_text(Kind.SIZE, 1000) == "1000"
