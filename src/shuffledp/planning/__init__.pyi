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
from .detectable_differences import LeastDifference as LeastDifference
from .detectable_differences import least_change as least_change
from .detectable_differences import least_difference as least_difference
from .detectable_differences import least_difference_of_options as least_difference_of_options
from .word_discovery import find_chance as find_chance
from .word_discovery import least_share as least_share
from .word_discovery import planned_thresholds as planned_thresholds
from .word_discovery import fakes_to_plant as fakes_to_plant
from .word_plan import WordPlan as WordPlan
from .word_plan import WordsAtLoss as WordsAtLoss
from .word_plan import plan_words as plan_words
