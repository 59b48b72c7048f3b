# The public names of files in and out, in the order of reading.
# isort: skip_file

# a task's stages
from .stages import randomize as randomize
from .stages import shuffle as shuffle
from .stages import analyze as analyze
from .stages import run as run
from .reading import ProgressListener as ProgressListener

# what else people bring
from .people_files import read_graph as read_graph
from .people_files import read_around as read_around
from .matrices import read_channel as read_channel
from .matrices import read_gain as read_gain

# output
from .writing import is_release as is_release
from .writing import is_stage as is_stage
from .writing import new_file as new_file
from .writing import new_folder as new_folder
