/**
 * Makes the npm package of Omnibus: `dist/omnibus-gateway-<version>.tgz`. It contains all its dependencies, so that the installation downloads nothing
 * else, runs no script, and works without a registry. Nothing is published.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.mjs';
import { buildConsole, folder as page } from '../../services/console/build.mjs';
import { copyDocuments } from './documents.mjs';
import { packageMetadata } from './metadata.mjs';
import { billOf, noticesOf, packagesOf } from './parts.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/**
 * @param destination folder for the archive; temporary files are made beside it and removed.
 * @returns the path of the archive, and its contents.
 */
export async function makePackage(destination) {
  const { version, description, license } = read('package.json');
  const { name, bin, engines, keywords } = read('services/gateway/package.json');
  const folder = join(destination, 'package');
  rmSync(folder, { recursive: true, force: true });
  // Older archives are removed, since the image is built from the only archive in the folder.
  for (const file of globSync(join(destination, 'omnibus-gateway-*.tgz'))) rmSync(file);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const packages = packagesOf([...(await bundle(root, join(folder, 'dist'))), ...(await buildConsole())]);
  cpSync(page, join(folder, 'console'), { recursive: true });
  copyDocuments(root, folder);
  const isClean = git('status', '--porcelain') === '';
  const write = (file, text) => writeFileSync(join(folder, file), text);
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
  write(
    'package.json',
    json({
      name,
      version,
      description,
      license,
      ...packageMetadata(root),
      keywords,
      type: 'module',
      bin,
      engines,
      files: ['bin', 'console', 'dist', 'docs', 'LICENSES-OF-OTHERS.md', 'omnibus.schema.json', 'sbom.cdx.json'],
      // The commit of the sources, where nothing is uncommitted; npm has this name for it.
      ...(isClean ? { gitHead: git('rev-parse', 'HEAD') } : {}),
    }),
  );
  write('LICENSES-OF-OTHERS.md', noticesOf(packages));
  write('sbom.cdx.json', json(billOf(root, packages, { name, version, date: git('log', '-1', '--format=%cI') })));
  for (const [from, to] of [
    ['services/gateway/bin/omnibus.js', 'bin/omnibus.js'],
    ['services/gateway/README.md', 'README.md'],
    ['LICENSE', 'LICENSE'],
    ['docs/reference/omnibus.schema.json', 'omnibus.schema.json'],
  ])
    copyFileSync(join(root, from), join(folder, to));
  const [{ filename, unpackedSize, entryCount }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const archive = join(destination, `omnibus-gateway-${version}.tgz`);
  // For a scoped package, npm writes a file name without the scope's characters, but reports another one in its JSON.
  if (filename.split('/').at(-1) !== `omnibus-gateway-${version}.tgz`) renameSync(join(destination, filename), archive);
  rmSync(folder, { recursive: true });
  return {
    archive,
    packedBytes: statSync(archive).size,
    unpackedBytes: unpackedSize,
    files: entryCount,
    packages: packages.length,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const destination = resolve(process.argv[2] ?? join(root, 'dist'));
  const { archive, packedBytes, unpackedBytes, files, packages } = await makePackage(destination);
  console.log(
    `${archive}: ${(packedBytes / 1e6).toFixed(2)} MB packed, ${(unpackedBytes / 1e6).toFixed(2)} MB unpacked, ${files} files, with code of ${packages} packages`,
  );
}
