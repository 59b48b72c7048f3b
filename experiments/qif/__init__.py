"""What shuffled answers tell about one person: the figures and tables of Jurado et al. 2023, exactly."""
