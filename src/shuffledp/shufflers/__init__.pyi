# The public names of shufflers, in the order of the files that `__init__.py` lists.
# isort: skip_file

from .uniform import IdentityShuffleModel as IdentityShuffleModel
from .uniform import IdentityShuffler as IdentityShuffler
from .uniform import UniformShuffleModel as UniformShuffleModel
from .uniform import UniformShuffler as UniformShuffler
