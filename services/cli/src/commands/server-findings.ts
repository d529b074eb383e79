/** The findings of `omnibus doctor` about each server: it starts a gateway with only the servers, and checks their state. */
import { issuersNamed, readChallenge, type Fetch } from '@omnibus/credentials';
import { accountOf, noServers, type Config, type ServerConfig } from '@omnibus/config';
import type { ServerLoad } from '@omnibus/backend';
import { printable, repairs, unfitWords, type CatalogRecord } from '@omnibus/protocol';
import type { StartGateway } from '../gateway.ts';
import { counted } from '../output/counted.ts';
import { adviceFor } from '@omnibus/admin';
import { compositeFindings } from '../findings/composites.ts';
import type { Finding } from './finding.ts';
import { tryServers } from './try-servers.ts';

export async function serverFindings(config: Config, baseFolder: string, start: StartGateway): Promise<Finding[]> {
  const nothing = noServers(config);
  if (nothing !== undefined)
    return [
      {
        about: 'servers',
        state: 'warning',
        text: nothing.problem,
        advice: `To connect to servers, ${nothing.advice}.`,
      },
    ];
  const gateway = await tryServers(config, baseFolder, start);
  const loads = gateway.servers?.loads ?? [];
  const findings = await Promise.all(
    loads.map(({ record, strays, repairs }) => {
      const settings = config.mcpServers[record.server];
      return record.status === 'up'
        ? Promise.resolve(
            ofRunning(
              record,
              { strays, repairs },
              settings,
              settings === undefined ? undefined : accountOf(settings, config),
            ),
          )
        : ofLost(record, settings, wordsOf(gateway.servers?.diaryOf(record.server)?.lines ?? []));
    }),
  );
  await gateway.stop();
  return [
    ...findings.flat(),
    ...compositeFindings(
      config,
      loads.map(({ record }) => record),
    ),
  ];
}

/** The output of a program in its last run: lines of the gateway separate the runs. */
function wordsOf(lines: readonly { readonly text: string; readonly isOwn: boolean }[]): readonly string[] {
  const end = lines.findLastIndex(({ isOwn }) => !isOwn) + 1;
  return lines
    .slice(lines.slice(0, end).findLastIndex(({ isOwn }) => isOwn) + 1, end)
    .slice(-maxWords)
    .map(({ text }) => text);
}

function ofRunning(
  { server, revision, lists, problem, leftOut = 0, unfit = [], held = [] }: CatalogRecord,
  { strays, repairs: repaired }: Pick<ServerLoad, 'strays' | 'repairs'>,
  settings: ServerConfig | undefined,
  account: string | undefined,
): Finding[] {
  const about = `server ${server}`;
  const warnings = [
    ...(problem === undefined
      ? []
      : [
          {
            text: problem,
            advice:
              'It is asked again by itself. If it stays so, the server does not answer this list: look at its log, or take the capability out of what it declares.',
          },
        ]),
    ...(strays === 0 ? [] : [strayFinding(server, strays, settings)]),
    ...(leftOut === 0
      ? []
      : [
          {
            text: `${leftOut} of what it offers cannot be shown to clients`,
            advice: unfit.slice(0, maxShown).map(unfitWords).join('; '),
          },
        ]),
    ...repaired.map(({ repair, count, example }) => ({
      text: `repaired ${counted(count, 'time')}: the gateway reads ${repairs[repair].reads}, as at ${example}`,
      advice:
        repair === 'redirect'
          ? 'Write the address that it leads to as `url` of the server: until then requests are sent twice.'
          : 'Clients are served. Mend it in the server, since other clients may refuse it; with `validation: enforce` the gateway repairs nothing.',
    })),
    ...(held.length === 0
      ? []
      : [
          {
            text: `${held.length} of what it offers wait to be approved`,
            advice: `See what changed: omnibus definitions diff ${server}`,
          },
        ]),
  ];
  return [
    {
      about,
      state: 'good',
      text: `up, revision ${revision ?? 'unknown'}: ${counted(lists.tools.length, 'tool')}, ${counted(lists.prompts.length, 'prompt')}, ${counted(lists.resources.length, 'resource')}${account === undefined ? '' : `; account: ${account}`}`,
    },
    ...warnings.map((each): Finding => ({ about, state: 'warning', ...each })),
  ];
}

/** Invalid messages of a server. */
function strayFinding(
  server: string,
  strays: number,
  settings: ServerConfig | undefined,
): { readonly text: string; readonly advice: string } {
  return settings?.command === undefined
    ? {
        text: `it sent ${strays} times what is no MCP message, which is dropped`,
        advice: `"omnibus logs ${server}" shows it where a gateway runs; it is to be mended in the server.`,
      }
    : {
        text: `its program prints to stdout what is no MCP message: ${strays} times so far`,
        advice:
          'stdout is for messages alone: have the program write its log to stderr, or turn that output off (an option such as --quiet). Each such line is dropped, and costs time.',
      };
}

async function ofLost(
  { server, problem = 'it does not answer', trouble }: CatalogRecord,
  settings: ServerConfig | undefined,
  words: readonly string[],
): Promise<Finding[]> {
  const about = `server ${server}`;
  const said =
    words.length === 0 || trouble !== 'ended'
      ? problem
      : `${problem}; it wrote last: ${printable(words.slice(-maxShown).join(' | '), 600)}`;
  const advice =
    trouble === 'ended'
      ? packageAdvice(settings, words)
      : trouble === 'credentials'
        ? await signInAdvice(server, settings)
        : undefined;
  return [{ about, state: 'bad', text: said, advice: advice ?? adviceFor(trouble, settings?.command) }];
}

/** Programs that download a package and run it, with the command that looks a package up. */
const launchers: Readonly<Record<string, (name: string) => string>> = {
  npx: (name) => `npm view ${name}`,
  npm: (name) => `npm view ${name}`,
  bunx: (name) => `npm view ${name}`,
  pnpm: (name) => `npm view ${name}`,
  yarn: (name) => `npm view ${name}`,
  uvx: (name) => `https://pypi.org/project/${name}`,
  uv: (name) => `https://pypi.org/project/${name}`,
  pipx: (name) => `https://pypi.org/project/${name}`,
  docker: (name) => `docker pull ${name}`,
};
const subcommands = new Set(['exec', 'dlx', 'run', 'tool', 'x']);

/** When the program of a launcher ends at once, the package most often does not exist. */
function packageAdvice(settings: ServerConfig | undefined, words: readonly string[]): string | undefined {
  const launcher = settings?.command
    ?.split(/[/\\]/)
    .at(-1)
    ?.replace(/\.(cmd|exe)$/, '');
  const look = launcher === undefined || !Object.hasOwn(launchers, launcher) ? undefined : launchers[launcher];
  const name = settings?.args.find((word) => !word.startsWith('-') && !subcommands.has(word));
  if (look === undefined || name === undefined) return undefined;
  const sure = words.some((line) => npmNotFound.test(line));
  return `${sure ? 'There is no such package' : 'If there is no such package, it ends like this'}: is ${JSON.stringify(name)} written rightly, and does this machine reach the registry? Look with: ${look(name.replace(/(?<=.)@[^/]*$/, ''))}`;
}

/** The code that npm prints for a package that its registry does not have. */
const npmNotFound = /\bE404\b/;
/** Bounds on the last lines of an ended program, for the search and for display. */
const [maxWords, maxShown] = [20, 3];

const signInMs = 5_000;

/** Advice for a server that refuses requests because users have to sign in (2025-11-25 basic/authorization), as its challenge or its metadata show. */
async function signInAdvice(server: string, settings: ServerConfig | undefined): Promise<string | undefined> {
  const { url, credentials } = settings ?? {};
  if (url === undefined || !/^https?:/.test(url)) return undefined;
  if (credentials !== undefined)
    return `Its credentials are of kind "${credentials.kind}", and the server does not accept them.${credentials.kind === 'oauth' ? ` Where users sign in: omnibus sign-in ${server}.` : ''}`;
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    body: '{}',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    signal: AbortSignal.timeout(signInMs),
  }).catch(() => undefined);
  await response?.body?.cancel();
  const { resourceMetadata } = readChallenge(response?.headers.get('www-authenticate') ?? undefined);
  // The issuers themselves are not asked.
  const named = await issuersNamed({ fetch: asking, url, resourceMetadata }).catch(() => undefined);
  const issuer = named?.[0];
  if (issuer === undefined && resourceMetadata === undefined) return undefined;
  return `It wants OAuth${issuer === undefined ? '' : `, with tokens of ${printable(issuer, 200)}`}: add to this server "credentials: { kind: oauth }" for its users to sign in (omnibus sign-in ${server}), or "credentials: { kind: client, … }" for the gateway as one client (docs/how-to/credentials.md).`;
}

const asking: Fetch = (address, request) =>
  fetch(address, { ...request, redirect: 'manual', signal: AbortSignal.timeout(signInMs) });
