"""The claims of papers as data, their measurement from results, and a scorecard."""

from tailback.papers.claims import Claim, Paper, load_paper, papers
from tailback.papers.errors import UnknownPaper
from tailback.papers.explained import explained
from tailback.papers.on_kernel import Beside, beside, beside_as_document, write_pages
from tailback.papers.page import write_page
from tailback.papers.reproduction import Reproduction, Wanted, folder_of_pages, reproduce, with_conditions
from tailback.papers.scorecard import Row, as_document, in_full, in_one_line, score
from tailback.papers.search import Search, search
from tailback.papers.search import as_document as search_as_document

__all__ = [
    "Beside",
    "Claim",
    "Paper",
    "Reproduction",
    "Row",
    "Search",
    "UnknownPaper",
    "Wanted",
    "as_document",
    "beside",
    "beside_as_document",
    "explained",
    "folder_of_pages",
    "in_full",
    "in_one_line",
    "load_paper",
    "papers",
    "reproduce",
    "score",
    "search",
    "search_as_document",
    "with_conditions",
    "write_page",
    "write_pages",
]
