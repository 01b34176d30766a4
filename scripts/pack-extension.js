/**
 * Packs the extension of editors/vscode into a .vsix: `node scripts/pack-extension.js [FILE]`. A .vsix is a zip with a manifest; it is written here, so
 * that packing needs no network and gives the same bytes each time.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync } from 'node:zlib';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const here = join(root, 'editors', 'vscode');

/** The page that the editor shows of the extension. */
const DETAILS = 'README.md';

/** The bytes of the package, and its name. */
export async function packExtension() {
  const manifest = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  // The marketplace and the editor compare versions of three numbers.
  const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version.replace(/-.*$/, '');
  const { private: _unpublished, ...published } = { ...manifest, version };
  const files = {
    'extension.vsixmanifest': writeManifest(published),
    '[Content_Types].xml': CONTENT_TYPES,
    'extension/package.json': `${JSON.stringify(published, null, 2)}\n`,
    'extension/extension.js': await bundle(),
    'extension/expression.tmLanguage.json': readFileSync(join(here, 'expression.tmLanguage.json')),
    [`extension/${DETAILS}`]: readFileSync(join(here, DETAILS)),
    'extension/LICENSE.txt': readFileSync(join(root, 'LICENSE')),
  };
  return { name: `${manifest.name}-${version}.vsix`, bytes: zip(files) };
}

async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [join(here, 'src', 'extension.js')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
    legalComments: 'inline',
    logLevel: 'warning',
  });
  return outputFiles[0].contents;
}

const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".txt" ContentType="text/plain"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
`;

function writeManifest({ name, publisher, version, displayName, description, engines, categories }) {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Categories>${categories.join(',')}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/${DETAILS}" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

/** 1 January 1980, the earliest that a zip can say: the same files give the same bytes. */
const DOS_DATE = (0 << 9) | (1 << 5) | 1;

function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [path, content] of Object.entries(files)) {
    const name = Buffer.from(path);
    const raw = Buffer.from(content);
    const packed = deflateRawSync(raw, { level: 9 });
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0); // version needed
    fields.writeUInt16LE(0x0800, 2); // names are UTF-8
    fields.writeUInt16LE(8, 4); // deflate
    fields.writeUInt16LE(0, 6); // time
    fields.writeUInt16LE(DOS_DATE, 8);
    fields.writeUInt32LE(crc32(raw), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(raw.length, 18);
    fields.writeUInt16LE(name.length, 22);
    fields.writeUInt16LE(0, 24); // no extra field
    parts.push(Buffer.from('PK\u0003\u0004', 'latin1'), fields, name, packed);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), fields, entry, name);
    offset += 30 + name.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { name, bytes } = await packExtension();
  const file = process.argv[2] ?? join(here, 'out', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  console.log(`${file}: ${bytes.length} bytes`);
}
