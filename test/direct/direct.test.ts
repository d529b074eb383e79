/**
 * The official suites, run against real servers directly, and through the gateway with default settings: at an endpoint with that server alone, and, when
 * everything is run, at one with four more servers. A check that fails only through the gateway is a fault of the gateway; one that fails only directly is a
 * difference that docs/reference/differences.md explains.
 */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { conformanceServers, startServer, untilAllAreUp, type ConformanceServer } from './conformance-servers.ts';
import { installed } from './published.ts';
import { allRuns, differing, passed, reasonWithOthers, scoreOf, titleOf, type Run, type Score } from './scores.ts';
import { revisions, Speaker } from './speaker.ts';
import { isWritten, writeTable, type Row } from './suite-table.ts';
import { isWhole, make, makingLimitMs, usable } from './toolchains.ts';

const runs = allRuns.filter(({ isBrief }) => isBrief || isWhole);
if (!isWhole)
  console.log(
    'left out: conformance 0.1.16, since 0.2.0-alpha.12 has all of its scenarios; `OMNIBUS_DIRECT=all npm test -- direct` runs it',
  );

/** Other servers behind the gateway: a typical set, over stdio and of both eras. */
const others = {
  files: installed('mcp-server-filesystem', tmpdir()),
  memory: installed('mcp-server-memory'),
  everything: installed('mcp-server-everything'),
  greeter: { command: 'node', args: [fixturePath('sdk2-server')] },
};

/** The servers behind the gateway of each endpoint. Each has a server of its own: clients that use one connection at once hear no words that may be another's. */
const endpoints = {
  asked: {},
  ...(isWhole ? { shared: others } : {}),
};

const rows: Row[] = [];
const servers = usable(conformanceServers);
const placeOf = ({ server, run }: Row): number =>
  allRuns.indexOf(run) * servers.length + servers.findIndex(({ name }) => name === server);

afterAll(async () => {
  if (isWritten) await writeTable(rows.toSorted((one, other) => placeOf(one) - placeOf(other)));
});

interface Place {
  readonly endpoint: string;
  readonly url: string;
  readonly alone: string;
  readonly isOfOtherEra: boolean;
}

/** Compares the two sides of a run. Scenarios have time limits of their own, which a busy machine may exceed: a difference counts only when it occurs twice. */
async function compare(server: string, run: Run, before: Score, place: Place): Promise<Row> {
  const { endpoint, url, alone, isOfOtherEra } = place;
  let [direct, through] = [before, await scoreOf(run, url)];
  const found = differing(direct, through, isOfOtherEra).filter(({ explanation }) => explanation === undefined);
  for (const scenario of new Set(found.map((each) => each.scenario))) {
    console.log(`${server}: ${titleOf(run)}: /${endpoint}: ${scenario} differs and is run once more`);
    const [one, other] = await Promise.all([alone, url].map((each) => scoreOf(run, each, scenario)));
    direct = new Map([...direct, ...(one as Score)]);
    through = new Map([...through, ...(other as Score)]);
  }
  return { server, run, endpoint, direct, through, isOfOtherEra, differing: differing(direct, through, isOfOtherEra) };
}

async function rowsOf(asked: ConformanceServer): Promise<readonly Row[]> {
  const { name } = asked;
  await using stack = new AsyncDisposableStack();
  const alone = stack.use(await startServer(asked));
  const urls: (readonly [endpoint: string, url: string])[] = [];
  for (const [endpoint, more] of Object.entries(endpoints)) {
    const behind = stack.use(await startServer(asked));
    const gateway = stack.use(
      await startGateway('embedded', {
        mcpServers: { ...more, asked: { url: behind.url } },
        profiles: { shared: { servers: ['asked', ...Object.keys(more)], prefix: 'never' } },
      }),
    );
    await untilAllAreUp(gateway);
    urls.push([endpoint, `${gateway.url}/${endpoint}`]);
  }
  await using modern = await Speaker.open({ url: alone.url }, 'modern');
  const found: Row[] = [];
  for (const run of runs) {
    const isOfOtherEra = run.args.includes(revisions.modern) && !modern.isUnderstood;
    const before = scoreOf(run, alone.url);
    const compared = await Promise.all(
      urls.map(async ([endpoint, url]) =>
        compare(name, run, await before, { endpoint, url, alone: alone.url, isOfOtherEra }),
      ),
    );
    found.push(...compared);
  }
  return found;
}

/** The suites mostly wait for timeouts, so several servers are tested at the same time, each directly and through gateways. */
describe.each(servers)('$name', { concurrent: true }, (asked) => {
  beforeAll(() => make(asked.needs), makingLimitMs);

  it('gives through the gateway what it gives directly', { timeout: 900_000 }, async () => {
    const found = await rowsOf(asked);
    rows.push(...found);
    for (const { run, endpoint, direct, through } of found)
      console.log(
        `${asked.name}: ${titleOf(run)}: /${endpoint}: ${passed(direct)} of ${direct.size} scenarios directly, ${passed(through)} of ${through.size} through the gateway`,
      );
    const lost = found.flatMap(({ run, endpoint, differing: all }) =>
      all
        .filter(
          (each) =>
            each.explanation === undefined &&
            !(endpoint === 'shared' && reasonWithOthers(asked.name, each) !== undefined),
        )
        .map(
          ({ scenario, check, failsThrough, problem }) =>
            `${titleOf(run)}: /${endpoint}: ${scenario} ${check} fails ${failsThrough ? 'through the gateway' : 'directly'} only: ${problem}`,
        ),
    );
    expect(lost).toEqual([]);
  });
});
