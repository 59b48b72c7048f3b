"""Files of tasks with strata."""
