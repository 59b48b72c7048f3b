# The public names of analyzers, in the order of the files that `__init__.py` lists.
# isort: skip_file

from .frequencies import Frequencies as Frequencies
from .frequencies import FrequencyAnalyzer as FrequencyAnalyzer
from .frequencies import FrequencySummary as FrequencySummary
from .frequencies import project_to_simplex as project_to_simplex
from .frequency_sums import FrequencySums as FrequencySums
from .cross_tables import CrossTable as CrossTable
from .cross_tables import CrossTableAnalyzer as CrossTableAnalyzer
from .independence_tests import Independence as Independence
from .independence_tests import independence as independence
from .histograms import Histogram as Histogram
from .histograms import HistogramAnalyzer as HistogramAnalyzer
from .tick_shares import TickAnalyzer as TickAnalyzer
from .tick_shares import TickEstimate as TickEstimate
from .tick_shares import TickSummary as TickSummary
from .means import MeanAnalyzer as MeanAnalyzer
from .means import MeanSummary as MeanSummary
from .prefix_search import Search as Search
from .prefix_search import search as search
from .prefix_search import threshold as threshold
from .word_shares import OTHERS as OTHERS
from .word_shares import WordAnalyzer as WordAnalyzer
from .word_shares import WordEstimate as WordEstimate
from .word_shares import WordSummary as WordSummary
from .blanketed_shares import BlanketAnalyzer as BlanketAnalyzer
from .blanketed_shares import BlanketSummary as BlanketSummary
from .among_asked import AMONG as AMONG
from .among_asked import FollowUpAnalyzer as FollowUpAnalyzer
from .among_asked import related as related
from .contrasts import About as About
from .contrasts import Contrast as Contrast
from .differences import Differences as Differences
from .differences import between as between
from .differences import compared as compared
from .differences import within as within
