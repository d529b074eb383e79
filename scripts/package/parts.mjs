/** Licences and bill of materials of the third-party code in a bundle. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const licenceFiles = /^(licen[cs]e|copying|notice)/i;

/**
 * The packages to which modules belong, each once, ordered by name.
 * @param modules paths of files, as a bundler reports them.
 * @returns name, version, licence and the texts that every copy must include.
 */
export function packagesOf(modules) {
  const folders = new Set(modules.filter((path) => path.includes('/node_modules/')).map(folderOf));
  const found = new Map(
    [...folders].map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const texts = readdirSync(folder)
        .filter((file) => licenceFiles.test(file))
        .toSorted()
        .map((file) => readFileSync(join(folder, file), 'utf8').trim());
      return [
        `${name}@${version}`,
        { name, version, license: typeof license === 'string' ? license : license?.type, texts },
      ];
    }),
  );
  const unlicensed = [...found.values()].filter(({ license }) => license === undefined);
  if (unlicensed.length > 0) throw new Error(`no licence is known of ${unlicensed.map(({ name }) => name).join(', ')}`);
  return [...found.values()].toSorted((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
}

/** The folder of the package of a module: the nearest one with a name and a version. */
function folderOf(module) {
  let folder = dirname(module.replace(/^\0/, '').split('?')[0]);
  for (;;) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version !== undefined) return folder;
    if (basename(folder) === 'node_modules') throw new Error(`${module} belongs to no package`);
    folder = dirname(folder);
  }
}

/** One document with every licence; identical texts are included once. */
export function noticesOf(packages) {
  const byText = Map.groupBy(packages, ({ license, texts }) =>
    texts.length > 0 ? texts.join('\n\n') : `${license} (the package brings no text of it)`,
  );
  const sections = [...byText].map(
    ([text, of]) =>
      `## ${of.map(({ name, version, license }) => `${name} ${version} (${license})`).join(', ')}\n\n\`\`\`\n${text.replaceAll('```', "'''")}\n\`\`\`\n`,
  );
  return `# What others made\n\nOmnibus holds code of these packages, under their licences.\n\n${sections.join('\n')}`;
}

/**
 * The bill of materials (CycloneDX 1.5) as npm makes it, without packages that are not in the bundle. Equal sources give equal bytes.
 * @param product name and version of the product.
 * @param date of the sources, ISO 8601.
 */
export function billOf(root, packages, { name, version, date }) {
  const all = JSON.parse(
    execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--include=dev'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 100_000_000,
    }),
  );
  const isPart = ({ 'bom-ref': ref }) => packages.some((each) => ref === `${each.name}@${each.version}`);
  const components = all.components.filter(isPart);
  const unknown = packages.filter(
    (each) => !components.some(({ 'bom-ref': ref }) => ref === `${each.name}@${each.version}`),
  );
  if (unknown.length > 0) throw new Error(`npm names no component for ${unknown.map((each) => each.name).join(', ')}`);
  const ref = `${name}@${version}`;
  const bill = {
    ...all,
    metadata: {
      timestamp: date,
      lifecycles: [{ phase: 'build' }],
      tools: all.metadata.tools,
      component: {
        'bom-ref': ref,
        type: 'application',
        name,
        version,
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: components.map((component) => ({
      ...component,
      scope: 'required',
      properties: [],
      externalReferences: [],
    })),
    dependencies: [
      { ref, dependsOn: components.map((component) => component['bom-ref']) },
      ...all.dependencies
        .filter((each) => isPart({ 'bom-ref': each.ref }))
        .map((each) => ({ ref: each.ref, dependsOn: each.dependsOn.filter((on) => isPart({ 'bom-ref': on })) })),
    ],
  };
  // The serial number is derived from the contents instead of being random.
  const digest = createHash('sha256')
    .update(JSON.stringify({ ...bill, serialNumber: '' }))
    .digest('hex');
  return {
    ...bill,
    serialNumber: `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`,
  };
}
