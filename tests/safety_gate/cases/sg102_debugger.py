"""Cases of SG102."""
import pdb
from pdb import set_trace as stop

from icecream import ic


def entries(x):
    breakpoint()  # expect: SG102
    pdb.set_trace()  # expect: SG102
    stop()  # expect: SG102
    ic(x)  # expect: SG102
    x.on_error = breakpoint  # expect: SG102


def harmless(breakpoint, debugger):
    breakpoint()
    debugger.set_trace()
    text = "breakpoint()"
    return text
