"""`stride(x, axis)` in the expressions of a kernel's YAML, and arrays of four axes."""

import pytest
from mistakes import write_files
from support import case_of, read_kernel

from runner.errors import UsageError

CU = """__global__ void mine(const float* in, float* out, int s0, int s1, int s2, int s3, int n, int c, int h, int w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * c * h * w) return;
    const int x = i % w, y = i / w % h, channel = i / (w * h) % c, image = i / (w * h * c);
    out[i] = 2 * in[image * s0 + channel * s1 + y * s2 + x * s3];
}
"""
YAML = """parameters: {block: 64, images: 3, channels: 5, high: 7, wide: 11, pad: 2}
let: {pitch: "stride(in, 2)"}
arguments:
  - {name: in, role: in, dtype: float32, shape: [images, channels, high, wide + pad], fill: random}
  - {name: out, role: out, dtype: float32, shape: [images, channels, high, wide]}
  - {name: s0, scalar: int32, value: "stride(in, 0)"}
  - {name: s1, scalar: int32, value: "stride(in, -3)"}
  - {name: s2, scalar: int32, value: pitch}
  - {name: s3, scalar: int32, value: "stride(in, 3)"}
  - {name: n, scalar: int32, value: images}
  - {name: c, scalar: int32, value: channels}
  - {name: h, scalar: int32, value: high}
  - {name: w, scalar: int32, value: wide}
grid: ceil_div(images * stride(out, 0), block)
bytes: {read: "4 * images * stride(in, 0)"}
reference: {out: "2 * in[:, :, :, :-2]"}
"""


def kernel(tmp_path, *pieces):
    """The kernel, in which pieces are replaced."""
    text = YAML
    for old, new in pieces:
        assert old in text
        text = text.replace(old, new)
    write_files(tmp_path, {"mine.cu": CU, "mine.yaml": text})
    return read_kernel(tmp_path / "mine.yaml")


def test_strides_are_those_of_a_row_major_array(bench, tmp_path):
    """They are elements, follow the shape at any size, and count axes from either end."""
    mine = kernel(tmp_path)
    numbers = {s.name: s.numbers[0] for s in case_of(mine).arguments() if s.name.startswith("s")}
    assert numbers == {"s0": 5 * 7 * 13, "s1": 7 * 13, "s2": 13, "s3": 1}
    assert case_of(mine).count("bytes_read") == 4 * 3 * 5 * 7 * 13
    outcome = bench.run(case_of(mine, wide=16))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("stride(in, 0)", "stride(on, 0)", "stride: 'on' is not an array; known: in, out"),
        ("stride(in, 0)", "stride(in, 4)", "stride: 'in' has no axis 4; allowed: -4 to 3"),
        ("stride(in, 0)", "stride(in)", "stride takes an array and the number of an axis, such as stride(a, 0)"),
        ("stride(in, 0)", "stride(in, pad)", "stride takes an array and the number of an axis, such as stride(a, 0)"),
        ("wide + pad]", "'stride(in, 0)']", "the shape of 'in' needs its own stride"),
        (
            "[images, channels, high, wide]",
            "[1, images, channels, high, wide]",
            "shape: expected 1 to 4 expressions, not 5",
        ),
        (
            "wide + pad], fill: random",
            "wide + pad], fill: random, texture: {}",
            "a texture or a surface has 1 to 3 axes, not 4",
        ),
    ],
)
def test_a_wrong_stride_or_shape_is_one_sentence(old, new, sentence, tmp_path):
    """An unknown array, an axis that it lacks, a circle, too many axes."""

    def told():
        case = case_of(kernel(tmp_path, (old, new)))
        raise UsageError(case.excluded)

    with pytest.raises(UsageError, match=":") as raised:
        told()
    assert sentence in str(raised.value)


def test_stride_is_still_the_name_of_a_parameter(tmp_path):
    """A kernel may call a parameter so, and use both."""
    mine = kernel(tmp_path, ("pad: 2", "pad: 2, stride: 4"), ("value: images", "value: images * stride // stride"))
    assert case_of(mine, stride=8).variables["stride"] == 8
