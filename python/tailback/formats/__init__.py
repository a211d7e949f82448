"""Import and export of files of other programs: Flent's data files, packet captures, CSV, TEACUP's configurations."""

from tailback.formats.convert import choice_of, export_csv, export_flent, import_files, import_teacup
from tailback.formats.errors import NotExportable, NotReadable
from tailback.formats.pcap import import_captures

__all__ = [
    "NotExportable",
    "NotReadable",
    "choice_of",
    "export_csv",
    "export_flent",
    "import_captures",
    "import_files",
    "import_teacup",
]
