# The public names of shufflers, in the order of the files that `__init__.py` lists.
# isort: skip_file

from .uniform import IdentityShuffleModel as IdentityShuffleModel
from .uniform import IdentityShuffler as IdentityShuffler
from .uniform import UniformShuffleModel as UniformShuffleModel
from .uniform import UniformShuffler as UniformShuffler
from .stratified import StratifiedShuffleModel as StratifiedShuffleModel
from .stratified import StratifiedShuffler as StratifiedShuffler
from .reference_order import SlotShuffleModel as SlotShuffleModel
from .reference_order import SlotShuffler as SlotShuffler
from .mallows import MallowsShuffleModel as MallowsShuffleModel
from .mallows import MallowsShuffler as MallowsShuffler
from .noisy_sort import NoisySortShuffleModel as NoisySortShuffleModel
from .noisy_sort import NoisySortShuffler as NoisySortShuffler
from .imperfect import CayleyShuffler as CayleyShuffler
from .imperfect import ComposedShuffler as ComposedShuffler
from .imperfect import DelayShuffler as DelayShuffler
from .imperfect import ImperfectShuffleModel as ImperfectShuffleModel
from .imperfect import ImperfectShuffler as ImperfectShuffler
from .imperfect import ObliviousShuffleModel as ObliviousShuffleModel
from .imperfect import imperfect_shuffler as imperfect_shuffler
from .parallel import ParallelShuffleModel as ParallelShuffleModel
from .parallel import ParallelShuffler as ParallelShuffler
from .walk_model import RandomWalkShuffleModel as RandomWalkShuffleModel
from .random_walk import RandomWalkShuffler as RandomWalkShuffler
