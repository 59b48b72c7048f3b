# A statistician with a table of answers: to a release that may be published, in three commands.
set -eu
shuffledp init acs_2019.csv.gz --value walking_difficulty --categories No,Yes --output task.toml
shuffledp plan task.toml
shuffledp run task.toml --input acs_2019.csv.gz --output release
