"""Files of other programs: Flent's data files, packet captures, CSV. Writes them from our results, and reads them
into our tables.
"""

from tailback.formats.convert import export_csv, export_flent, import_files, import_teacup
from tailback.formats.errors import NotExportable, NotReadable

__all__ = ["NotExportable", "NotReadable", "export_csv", "export_flent", "import_files", "import_teacup"]
