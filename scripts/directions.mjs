/** The direction of imports between packages: a package imports from earlier layers only, never from its own, and only what its manifest names. */
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** Folders of each layer, from the one that imports nothing to the one that may import all. */
const layers = {
  core: ['packages/collections', 'packages/protocol', 'packages/search', 'deploy'],
  library: [
    'packages/admin-api',
    'packages/audit',
    'packages/bus',
    'packages/catalog',
    'packages/client',
    'packages/config',
    'packages/credentials',
    'packages/identity',
    'packages/lifecycle',
    'packages/openapi',
    'packages/policy',
    'packages/telemetry',
    'packages/validation',
  ],
  role: ['services/authorization', 'services/backend', 'services/console', 'services/edge', 'services/session'],
  part: ['services/admin', 'services/connect', 'services/kubernetes', 'services/setup'],
  commands: ['services/cli'],
  program: ['services/gateway'],
  tests: ['test'],
};
const order = Object.keys(layers);
const layerOf = new Map(order.flatMap((layer) => layers[layer].map((folder) => [folder, layer])));
const imports = /\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm;

/** @param files paths of the repository. @returns each import that goes the wrong way, in words. */
export function strayImports(files) {
  const manifests = [...new Set(files.map(folderOf))]
    .filter((folder) => existsSync(`${folder}/package.json`))
    .map((folder) => ({ folder, ...JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) }));
  const folders = new Map(manifests.map(({ name, folder }) => [name, folder]));
  const problems = manifests
    .filter(({ folder }) => !layerOf.has(folder))
    .map(({ folder }) => `${folder} has no layer: add it to scripts/directions.mjs`);
  for (const { folder, dependencies, devDependencies } of manifests) {
    const named = { ...dependencies, ...devDependencies };
    const mayImport = (other) => order.indexOf(layerOf.get(other)) < order.indexOf(layerOf.get(folder));
    for (const file of files.filter((each) => folderOf(each) === folder)) {
      for (const [, one, two, three] of readFileSync(file, 'utf8').matchAll(imports)) {
        const source = one ?? two ?? three;
        const [, other] = /^(@omnibus\/[^/]+)/.exec(source) ?? [];
        if (source.startsWith('.') && folderOf(posix.join(posix.dirname(file), source)) !== folder)
          problems.push(`${file}: imports ${source}, which is outside of ${folder}: import the package by its name`);
        else if (other !== undefined && folders.has(other) && folders.get(other) !== folder) {
          if (!(other in named)) problems.push(`${file}: ${folder}/package.json does not name ${other}`);
          if (!mayImport(folders.get(other)))
            problems.push(
              `${file}: ${folder} (${layerOf.get(folder)}) may not import ${other} (${layerOf.get(folders.get(other))})`,
            );
        }
      }
    }
  }
  return problems;
}

/** The package that a file belongs to. */
function folderOf(file) {
  const [top, name] = file.split('/');
  return top === 'packages' || top === 'services' ? `${top}/${name}` : top;
}
