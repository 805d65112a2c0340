"""Which device is opened, and whether that is known beforehand."""

import pytest

from runner.device.config import DeviceConfig
from runner.device.kinds import kind_of, open_device


@pytest.mark.parametrize("index", [0, 99])
def test_the_device_that_will_be_opened_is_known_beforehand(index):
    """`auto` is a GPU if there is one of that number, else the CPU device; `kind_of` opens neither."""
    config = DeviceConfig(kind="auto", index=index, threads=1)
    device = open_device(config)
    assert kind_of(config) == device.info.kind
    device.close()


def test_a_device_that_is_asked_for_is_the_one():
    """An explicit kind is taken without a search."""
    assert [kind_of(DeviceConfig(kind=kind)) for kind in ("cpu", "cuda")] == ["cpu", "cuda"]
