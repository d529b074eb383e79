/**
 * Bundles the gateway with everything that it needs at run time into few files: one for each role, and one for each part that is loaded on demand (NATS,
 * Kubernetes, traces, checks of schemas). Unused code is removed; names are kept, for readable stack traces.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** Chunks with fixed names, by their first module; the others are named after their contents. */
const chunkNames = [
  [/services\/(edge|session|backend|authorization)\/src\/index\.ts$/, (match) => match[1]],
  [/packages\/bus\/src\/nats\/bus\.ts$/, () => 'nats'],
  [/packages\/validation\/src\/index\.ts$/, () => 'validation'],
  [/@kubernetes\/client-node\//, () => 'kubernetes-client'],
];

/**
 * Optional dependencies of libraries (`ws`: two in C++, `debug`: colours). A self-contained package must not behave differently when they happen to be
 * installed.
 */
const neverLookedFor = /^(bufferutil|utf-8-validate|supports-color)$/;
const absent = '\0omnibus:absent';
const withoutOptional = {
  name: 'without-optional-libraries',
  resolveId: { filter: { id: neverLookedFor }, handler: () => absent },
  load: (id) =>
    id === absent ? { code: 'throw new Error("this library is not part of Omnibus");', moduleType: 'js' } : undefined,
};

/**
 * Writes characters beyond ASCII as escapes. V8 holds the whole source of a module with two bytes a character if one character is beyond Latin-1: one "…" doubled the memory for
 * `session.js`. The characters are in strings, templates and regular expressions, where an escape means the same.
 */
const inAscii = {
  name: 'in-ascii',
  generateBundle(_options, output) {
    for (const part of Object.values(output)) if (part.type === 'chunk') part.code = asciiOf(part.code);
  },
};
/** Here an escape would mean something else: after a backslash, and in a template whose raw text is read. */
const notEscapable = /(?<!\\)(?:\\\\)*\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f`]/;

function asciiOf(code) {
  const problem = notEscapable.exec(code);
  if (problem !== null) throw new Error(`the bundle cannot be ASCII: ${problem[0].slice(-80)}`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * `node:http` by `require`. Its `import` reads all that it exports, and with `WebSocket` loads the library of Node's own `fetch`: 10 MB of memory and 40 ms of each start, for what
 * the gateway does not use.
 */
const http = '\0omnibus:http';
const withoutOwnFetch = {
  name: 'http-without-fetch',
  resolveId: {
    filter: { id: /^(node:)?http$/ },
    handler: (_id, _importer, { kind }) => (kind === 'require-call' ? undefined : http),
  },
  load: (id) => (id === http ? { code: httpModule(), moduleType: 'js' } : undefined),
};

function httpModule() {
  const names = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule('node:http')))
    .filter(([, property]) => 'value' in property)
    .map(([name]) => name);
  return [
    `import { createRequire } from 'node:module';`,
    `const http = createRequire(import.meta.url)('node:http');`,
    'export default http;',
    `export const { ${names.join(', ')} } = http;`,
  ].join('\n');
}

/** Libraries of parts that few installations use, and that `npm start` in a clone does not install. */
const large = ['@kubernetes/client-node', '@opentelemetry/core', '@aws-sdk/credential-provider-node'];
const ofLargeParts = /^@(kubernetes|opentelemetry|aws-sdk)\//;

/**
 * Writes the bundle into a folder.
 * @param root the checkout, with its dependencies installed.
 * @param more entries beside the program, by their names: paths from the root.
 * @param mayLack libraries of large parts that are not installed are looked for when their part is used, instead of being in the bundle.
 * @returns the paths of all modules that are in it, in whole or in part.
 * @throws {Error} when an import is neither a module of Node nor in the bundle.
 */
export async function bundle(root, folder, { mayLack = false, more = {} } = {}) {
  const isLacking = mayLack && large.some((name) => !existsSync(join(root, 'node_modules', name)));
  const build = await rolldown({
    input: Object.fromEntries(
      Object.entries({
        main: 'services/gateway/src/main.ts',
        // The thread of a script, which a worker starts by the name of this file.
        'script-thread': 'services/session/src/features/code/script-thread.ts',
        // A file of its own, since a thread begins with it.
        'model-thread': 'packages/search/src/models/model-thread.ts',
        ...more,
      }).map(([name, path]) => [name, join(root, path)]),
    ),
    platform: 'node',
    ...(isLacking ? { external: ofLargeParts } : {}),
    resolve: { conditionNames: ['omnibus-source', 'import', 'node', 'default'] },
    // The oldest version of Node in `engines` of the gateway.
    transform: { target: 'node22' },
    // Our modules have no side effects when they are loaded, except the main module and that of a thread.
    treeshake: { moduleSideEffects: [{ test: /\/(packages|services)\/\w+\/src\//, sideEffects: false }] },
    plugins: [withoutOptional, withoutOwnFetch, inAscii],
    onLog(level, log, handle) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      // `depd` (of the authorization server) generates functions in this way; names of variables are kept, so the generated code still works.
      if (log.code === 'EVAL' && log.id?.includes('/node_modules/depd/')) return;
      handle(level, log);
    },
  });
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    // Class names are kept, since `oidc-provider` derives the names of its stored models from them.
    keepNames: true,
    minify: {
      compress: { keepNames: { function: true, class: true } },
      mangle: false,
      codegen: { removeWhitespace: true },
    },
    chunkFileNames: ({ facadeModuleId }) => `${nameOf(facadeModuleId) ?? '[name]-[hash]'}.js`,
  });
  await build.close();
  const foreign = output
    .flatMap(({ imports = [], dynamicImports = [] }) => [...imports, ...dynamicImports])
    .filter((name) => !output.some(({ fileName }) => fileName === name) && !isOfNode(name))
    .filter((name) => !(isLacking && ofLargeParts.test(name)));
  if (foreign.length > 0) throw new Error(`the bundle needs ${foreign.join(', ')}, which it does not hold`);
  return output.flatMap(({ modules = {} }) =>
    Object.entries(modules)
      .filter(([, { renderedLength }]) => renderedLength > 0)
      .map(([path]) => path),
  );
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
