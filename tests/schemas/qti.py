"""Say whether a file is QTI 2.1, by the schema of its makers, which lies here unchanged.

That schema leans on others for what the book's questions do not have: formulas in MathML, inclusions,
accessibility profiles. For these stand-ins are enough that declare the names.
"""

import lzma
from functools import cache
from io import BytesIO
from pathlib import Path

from lxml import etree

SCHEMA = Path(__file__).with_name("imsqti_v2p1.xsd.xz")
XSD = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
ATTRIBUTES = "".join(
    f'<xs:attribute name="{name}" type="xs:string"/>' for name in ("lang", "base", "space")
)
STAND_INS = {
    "xml.xsd": ("http://www.w3.org/XML/1998/namespace", ATTRIBUTES),
    "XInclude.xsd": (
        "http://www.w3.org/2001/XInclude",
        '<xs:element name="include"/>',
    ),
    "mathml2.xsd": (
        "http://www.w3.org/1998/Math/MathML",
        '<xs:element name="math"/>',
    ),
    "apipv1p0_qtiextv2p1_v1p0.xsd": (
        "http://www.imsglobal.org/xsd/apip/apipv1p0/imsapip_qtiv1p0",
        '<xs:element name="apipAccessibility"/>',
    ),
}


class StandIns(etree.Resolver):
    """Answer for the schemas that lie elsewhere."""

    def resolve(self, url, _public, context):
        namespace, declared = STAND_INS[url.rpartition("/")[2]]
        text = f'<xs:schema {XSD} targetNamespace="{namespace}">{declared}</xs:schema>'
        return self.resolve_string(text, context)


@cache
def schema():
    """Read the schema; this takes a second."""
    parser = etree.XMLParser(no_network=True)
    parser.resolvers.add(StandIns())
    text = lzma.decompress(SCHEMA.read_bytes())
    return etree.XMLSchema(etree.parse(BytesIO(text), parser, base_url="qti.xsd"))


def wrong(content):
    """Return what is wrong with a file, line by line."""
    schema().validate(etree.fromstring(content))
    return [str(error) for error in schema().error_log]
