/** The paths of a stranger to a first call: from the package and from a clone, in empty folders, with nothing kept from before. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@omnibus/bus/testing';
import { root, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { ownServer } from './own-server.ts';
import type { Steps } from './steps.ts';

const run = promisify(execFile);

/** An empty home of a new user. */
interface Home extends AsyncDisposable {
  readonly folder: string;
  readonly cache: string;
  /** The server of the stranger. */
  readonly server: string;
  /** What differs from the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly listen: string;
  readonly admin: string;
}

async function home(): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-stranger-'));
  const [listen, admin] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
  const [cache, server] = [join(folder, 'npm-cache'), join(folder, 'own.mjs')];
  await writeFile(server, ownServer);
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((each) => !each.startsWith(root));
  return {
    folder,
    cache,
    server,
    listen,
    admin,
    env: {
      // Settings of npm, such as another registry, are those of the user of this machine.
      npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
      npm_config_cache: cache,
      HOME: folder,
      PATH: path.join(delimiter),
      OMNIBUS_LISTEN: listen,
      OMNIBUS_ADMIN: admin,
      OMNIBUS_URL: `http://${listen}/mcp`,
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** @param archive the package, as `npm run package` makes it. */
export async function fromPackage(archive: string, steps: Steps): Promise<void> {
  await using here = await home();
  const prefix = join(here.folder, 'global');
  const work = join(here.folder, 'work');
  await mkdir(work);
  const npm = ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel=error', archive];
  await steps.do(
    'npm install --global of the archive',
    () => run('npm', npm, { cwd: work, env: { ...process.env, ...here.env } }),
    [prefix],
  );
  const program = join(prefix, 'lib/node_modules/@omnibus/gateway/bin/omnibus.js');
  // The gateway needs a newer Node than the machine may have; that of the project is new enough.
  const env = { ...here.env, PATH: [dirname(process.execPath), here.env['PATH']].join(delimiter) };
  const everything = { ...process.env, ...env };
  const omnibus = async (...words: readonly string[]): Promise<string> =>
    (await run(process.execPath, [program, ...words], { cwd: work, env: everything })).stdout;
  await steps.do('omnibus add own -- node own.mjs', () => omnibus('add', 'own', '--', 'node', here.server));
  await using gateway = startProcess(process.execPath, [program, 'serve', '--config', join(work, 'omnibus.yaml')], env);
  await steps.do('omnibus serve, until the server is up', () => gateway.line(/"msg":"ready"/));
  await steps.do('omnibus call greet name=Ada', async () => greeted(await omnibus('call', 'greet', 'name=Ada')));
}

/** @param commit the cloned one. */
export async function fromClone(commit: string, steps: Steps): Promise<void> {
  await using here = await home();
  const clone = join(here.folder, 'omnibus');
  await steps.do('git clone', async () => {
    await run('git', ['clone', '--quiet', '--no-checkout', `file://${root}`, clone], {
      env: { ...process.env, ...here.env },
    });
    await run('git', ['checkout', '--quiet', commit], { cwd: clone, env: { ...process.env, ...here.env } });
  });
  let ended: Promise<unknown> | undefined;
  {
    await using first = npmStart(clone, here);
    ended = once(first.child, 'close');
    await steps.do(
      'npm start from an empty npm cache, until clients can connect',
      () => first.line(/"msg":"listening"/),
      [here.cache],
    );
    await steps.do('its four servers are up', () => first.line(/"msg":"ready"/));
  }
  // npm ends at the signal; the gateway under it, which holds its output, releases the ports a little later.
  await ended;
  const config = join(here.folder, 'own.yaml');
  await writeFile(config, `mcpServers:\n  own: { command: node, args: [${here.server}] }\n`);
  await using own = npmStart(clone, here, '--config', config);
  await steps.do('npm start -- --config own.yaml, until the server is up', () => own.line(/"msg":"ready"/));
  await steps.do('a call of the own server', async () => {
    using client = await RawClient.open(`http://${here.listen}/mcp`);
    greeted(JSON.stringify((await client.callTool('greet', { name: 'Ada' })).last.result));
  });
}

/** Options of env(1) that remove variables of npm and of the test run. */
function developers(): readonly string[] {
  const names = Object.keys(process.env).filter((name) =>
    /^(npm_(?!config_(registry|cafile|userconfig|cache)$)|NODE_(OPTIONS|PATH|COMPILE_CACHE)|OMNIBUS_PROGRAM|VITEST)/i.test(
      name,
    ),
  );
  return names.flatMap((name) => ['-u', name]);
}

function npmStart(clone: string, { env }: Home, ...words: readonly string[]): ReturnType<typeof startProcess> {
  return startProcess('env', [...developers(), 'npm', 'start', '--prefix', clone, '--', ...words], env);
}

/** @throws {Error} if the server has not greeted. */
function greeted(answer: string): void {
  if (!answer.includes('hello Ada')) throw new Error(`the answer was ${answer}`);
}
