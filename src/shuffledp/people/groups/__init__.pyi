# The public names of this package; each is imported when it is first used.
from .assignment import Groups as Groups
from .orders import reference_order as reference_order
from .sensitivity import Blocks as Blocks
from .sensitivity import Windows as Windows
from .sensitivity import blocks as blocks
from .sensitivity import order_sensitivity as order_sensitivity
from .sensitivity import order_width as order_width
from .sensitivity import position_spreads as position_spreads
from .sensitivity import windows as windows
