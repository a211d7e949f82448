"""The request for a sweep: where the results of each file go."""

from pathlib import Path

from tailback.sweep import folders_for

ONE, TWO = Path("a/one.yaml"), Path("b/two.yaml")


def test_the_results_of_one_file_are_in_the_folder_that_was_asked_for() -> None:
    assert folders_for([ONE], Path("out")) == [Path("out")]


def test_of_several_files_each_has_a_folder_of_its_own() -> None:
    assert folders_for([ONE, TWO], Path("out")) == [Path("out/one"), Path("out/two")]


def test_without_a_folder_each_experiment_has_its_default() -> None:
    assert folders_for([ONE, TWO], None) == [None, None]
