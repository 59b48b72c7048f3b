# The public names of planning, in the order of the files that `__init__.py` lists.
# isort: skip_file

from . import calibrate as calibrate

# randomizers
from .mechanism_choice import expected_error as expected_error
from .mechanism_choice import sample_size as sample_size
from .mechanism_choice import compare_randomizers as compare_randomizers
from .mechanism_choice import best_randomizer as best_randomizer
from .mechanism_choice import ExpectedError as ExpectedError
from .mechanism_choice import Option as Option
from .people_needed import people_for as people_for
from .people_needed import fewest_people as fewest_people
from .people_needed import PeopleNeeded as PeopleNeeded
from .people_needed import PeoplePlan as PeoplePlan

# network shuffling
from .constant_links import ConstantLinks as ConstantLinks
from .constant_links import LinksPlan as LinksPlan
from .constant_links import MOST_SURPLUS as MOST_SURPLUS
from .constant_links import SURPLUS_SHARE as SURPLUS_SHARE
from .constant_links import check_first_slots as check_first_slots
from .constant_links import of_rounds as of_rounds
from .network_rounds import NetworkShuffle as NetworkShuffle
from .network_rounds import fewest_rounds as fewest_rounds
from .network_rounds import why_no_rounds as why_no_rounds
from .network_plan import plan_walk as plan_walk
from .network_plan import NetworkPlan as NetworkPlan
from .network_plan import AfterRounds as AfterRounds
from .network_plan import PartOfGraph as PartOfGraph
from .network_plan import Risk as Risk
from .overlay_designs import design_overlays as design_overlays
from .overlay_designs import OverlayDesigns as OverlayDesigns
from .overlay_designs import RandomGraph as RandomGraph
from .overlay_plan import plan_overlay as plan_overlay
from .overlay_plan import OverlayPlan as OverlayPlan
from .overlay_plan import WalksPlan as WalksPlan
from .overlay_plan import OverlayCost as OverlayCost

# shuffles near a reference order
from .group_mixing import mixing_of as mixing_of
from .group_mixing import plan_mixing as plan_mixing
from .group_mixing import mixing_warnings as mixing_warnings
from .group_mixing import Mixing as Mixing
from .group_mixing import GroupsPlan as GroupsPlan
from .group_mixing import Reach as Reach
from .mechanism_choice import least_displacement as least_displacement
from .mechanism_choice import mean_displacement as mean_displacement
from .mechanism_choice import LeastDisplacement as LeastDisplacement
