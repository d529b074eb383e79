/**
 * The gateway and everything it runs with, as few files: one for each role, and one for what is loaded only where it is asked for
 * (NATS, Kubernetes, traces, the checks of schemas). Unused code is left out; names stay, so that stack traces can be read.
 */
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** Chunks that tests and people look for, by the module that begins them; the others are named after what is in them. */
const chunkNames = [
  [/services\/(edge|session|backend|authorization)\/src\/index\.ts$/, (match) => match[1]],
  [/packages\/bus\/src\/nats\/bus\.ts$/, () => 'nats'],
  [/packages\/validation\/src\/index\.ts$/, () => 'validation'],
  [/@kubernetes\/client-node\//, () => 'kubernetes-client'],
];

/**
 * Libraries that others use where they happen to be installed, and do without elsewhere (`ws`: two of C++, `debug`: colours). A package that
 * brings everything must not behave by what else lies around on a machine.
 */
const neverLookedFor = /^(bufferutil|utf-8-validate|supports-color)$/;
const absent = '\0omnibus:absent';
const withoutOptional = {
  name: 'without-optional-libraries',
  resolveId: { filter: { id: neverLookedFor }, handler: () => absent },
  load: (id) => (id === absent ? { code: 'throw new Error("this library is not part of Omnibus");', moduleType: 'js' } : undefined),
};

/**
 * Writes the bundle into a folder.
 * @param root the checkout, with its dependencies installed.
 * @returns the paths of all modules that are in it, in whole or in part.
 * @throws {Error} when something is neither of Node nor in the bundle.
 */
export async function bundle(root, folder) {
  const build = await rolldown({
    input: { main: join(root, 'services/gateway/src/main.ts') },
    platform: 'node',
    resolve: { conditionNames: ['omnibus-source', 'import', 'node', 'default'] },
    // The oldest Node that `engines` of the gateway names.
    transform: { target: 'node22' },
    // Modules of ours do nothing when they are loaded, other than the one that starts.
    treeshake: { moduleSideEffects: [{ test: /\/(packages|services)\/\w+\/src\//, sideEffects: false }] },
    plugins: [withoutOptional],
    onLog(level, log, handle) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      // `depd` (of the authorization server) makes functions that way; names of variables stay, so it finds what it names.
      if (log.code === 'EVAL' && log.id?.includes('/node_modules/depd/')) return;
      handle(level, log);
    },
  });
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    // Libraries go by the names of their classes: `oidc-provider` tells by them what it keeps from what it keeps.
    keepNames: true,
    minify: { compress: { keepNames: { function: true, class: true } }, mangle: false, codegen: { removeWhitespace: true } },
    chunkFileNames: ({ facadeModuleId }) => `${nameOf(facadeModuleId) ?? '[name]-[hash]'}.js`,
  });
  await build.close();
  const foreign = output.flatMap(({ imports = [], dynamicImports = [] }) => [...imports, ...dynamicImports]).filter((name) => !output.some(({ fileName }) => fileName === name) && !isOfNode(name));
  if (foreign.length > 0) throw new Error(`the bundle needs ${foreign.join(', ')}, which it does not hold`);
  return output.flatMap(({ modules = {} }) => Object.entries(modules).filter(([, { renderedLength }]) => renderedLength > 0).map(([path]) => path));
}

function nameOf(module) {
  for (const [pattern, name] of chunkNames) {
    const match = pattern.exec(module ?? '');
    if (match !== null) return name(match);
  }
  return undefined;
}

function isOfNode(name) {
  return process.getBuiltinModule('node:module').isBuiltin(name);
}
