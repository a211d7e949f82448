"""Import and export of files of other programs: Flent's data files, packet captures, CSV, TEACUP's configurations."""

from tailback.formats.convert import export_csv, export_flent, import_files, import_teacup
from tailback.formats.errors import NotExportable, NotReadable

__all__ = ["NotExportable", "NotReadable", "export_csv", "export_flent", "import_files", "import_teacup"]
