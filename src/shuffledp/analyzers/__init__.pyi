# The public names of analyzers, in the order of the files that `__init__.py` lists.
# isort: skip_file

from .frequencies import FrequencyAnalyzer as FrequencyAnalyzer
from .frequencies import FrequencySummary as FrequencySummary
from .frequencies import project_to_simplex as project_to_simplex
from .frequency_sums import FrequencySums as FrequencySums
from .cross_tables import CrossTable as CrossTable
from .cross_tables import CrossTableAnalyzer as CrossTableAnalyzer
from .histograms import Histogram as Histogram
from .histograms import HistogramAnalyzer as HistogramAnalyzer
from .means import MeanAnalyzer as MeanAnalyzer
from .means import MeanSummary as MeanSummary
from .sums import ShareSummary as ShareSummary
from .sums import SumAnalyzer as SumAnalyzer
from .regional import RegionalAnalyzer as RegionalAnalyzer
from .regional import RegionalSummary as RegionalSummary
from .post_stratification import StratifiedAnalyzer as StratifiedAnalyzer
from .post_stratification import StratifiedEstimate as StratifiedEstimate
from .post_stratification import StratifiedSummary as StratifiedSummary
from .group_preservation import Preservation as Preservation
from .group_preservation import exact_means as exact_means
from .group_preservation import preservation as preservation
