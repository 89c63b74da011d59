"""A calibration for people: a table on the terminal, and a picture of simulated against measured paints."""

from mixedsched.report.calibration._picture import calibration_picture
from mixedsched.report.calibration._terminal import render_calibration

__all__ = ["calibration_picture", "render_calibration"]
