# The public names of the engine.
# isort: skip_file

from .frames import run as run

# for who has a session
from .engine import run_on as run_on
from .engine_stages import randomize_on as randomize_on
from .engine_stages import shuffle_on as shuffle_on
from .engine_stages import analyze_on as analyze_on
from .session import session_at as session_at
