# The public names of the engine.
# isort: skip_file

from .frames import run as run

# for who has a session
from .engine import run_on as run_on
from .session import session_at as session_at
