# The public names of this family; each is imported when it is first used.
from .analyzers.post_stratification import StratifiedAnalyzer as StratifiedAnalyzer
from .analyzers.post_stratification import StratifiedEstimate as StratifiedEstimate
from .analyzers.post_stratification import StratifiedSummary as StratifiedSummary
from .documents.strata_document import StrataDocument as StrataDocument
from .files.strata_files import StrataFiles as StrataFiles
from .files.strata_files import each_batch_by_itself as each_batch_by_itself
from .people.strata import Strata as Strata
from .shufflers.stratified import StratifiedShuffleModel as StratifiedShuffleModel
from .shufflers.stratified import StratifiedShuffler as StratifiedShuffler
from .survey.stratified_section import StrataPlan as StrataPlan
from .survey.stratified_section import StratifiedResult as StratifiedResult
from .survey.stratified_section import StratifiedSection as StratifiedSection
from .survey.stratified_section import inside_strata as inside_strata
from .theorems.smallest_stratum import StrataLower as StrataLower
from .theorems.smallest_stratum import StrataUpper as StrataUpper
