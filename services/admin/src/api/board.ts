/** The state of the whole gateway, as the API answers it, assembled from the answers of all processes. */
import {
  cataloguePart,
  line,
  processRow,
  recentClient,
  serverPlace,
  sessionRow,
  type Catalogue,
  type Configuration,
  type Ended,
  type Logs,
  type Missing,
  type Processes,
  type Restarted,
  type ServerPage,
  type ServerPlace,
  type ServerRow,
  type Servers,
  type Sessions,
  type SessionPage,
  type Summary,
} from '@omnibus/admin-api';
import { accountOf, hasEndpoint, type Config, type ServerConfig } from '@omnibus/config';
import type { BlockRecord, EndpointName, ServerTrouble } from '@omnibus/protocol';
import { z } from 'zod';
import { adviceFor } from '../server-advice.ts';
import { ApiProblem } from './api-problem.ts';
import { actMs, answerMs, surveyMs, type Assembly, type Heard } from './assembly.ts';
import type { ApiOptions } from './options.ts';
import { countsOfProcess, summaryOf } from './rates.ts';
import { cleanAddress, shownValues } from './shown-config.ts';

interface BoardOptions extends Pick<ApiOptions, 'process' | 'config' | 'history'> {
  readonly assembly: Assembly;
  /** The servers that are paused. */
  readonly pauses: () => readonly BlockRecord[];
}

const processSaid = processRow.omit({ isThis: true, failures: true });
const serversSaid = z.object({ servers: z.array(serverPlace.omit({ process: true }).extend({ server: z.string() })) });
const linesSaid = z.object({ lines: z.array(line.omit({ process: true })), written: z.number() });
export type LinesSaid = z.output<typeof linesSaid>;
const sessionsSaid = z.object({
  sessions: z.array(sessionRow.omit({ process: true })),
  total: z.number(),
  clients: z.array(recentClient.omit({ process: true })),
});
const done = z.object({ done: z.boolean() });
const endedSaid = z.object({ ended: z.boolean() });

const pageLength = 100;
/** Clients without a session in one answer. */
const maxRecent = 500;
/** States of a server, the best first: the best report of any process counts. */
const order = ['up', 'asleep', 'connecting', 'down'] as const;

export class Board {
  readonly #options: BoardOptions;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  async processes(): Promise<Processes> {
    const { assembly, process: own } = this.#options;
    const [{ said, missing }, failures] = await Promise.all([
      assembly.ask('process', {}, processSaid),
      assembly.ask('failure-count', {}, z.object({ count: z.number() })),
    ]);
    const counts = new Map(failures.said.map(({ process: name, body }) => [name, body.count]));
    const rows = said.map(({ process: name, body }) => ({
      ...body,
      failures: counts.get(name) ?? 0,
      isThis: name === own,
    }));
    return {
      processes: rows.toSorted(
        (one, other) => order2(one.role, other.role) || one.process.localeCompare(other.process),
      ),
      missing,
    };
  }

  async servers(): Promise<Servers> {
    const { assembly, config, pauses } = this.#options;
    const [heard, counted] = await Promise.all([
      assembly.ask('servers', {}, serversSaid),
      assembly.ask('metrics', {}, countsOfProcess),
    ]);
    const rates = new Map(
      summaryOf(counted.said.map(({ body }) => body)).servers.map((each) => [each.server, each.rates]),
    );
    const places = placesOf(heard);
    const configured = Object.entries(config().mcpServers);
    const found = [...places.keys()]
      .filter((name) => !configured.some(([known]) => known === name))
      .map((name) => [name, undefined] as const);
    return {
      servers: [...configured, ...found]
        .map(([name, settings]) =>
          rowOf(name, settings, places.get(name) ?? [], rates.get(name), this.#options.config()),
        )
        .map((row) => withPause(row, pauses())),
      missing: heard.missing,
    };
  }

  /** @param hasLines whether the request includes its last lines. */
  async server(name: string, hasLines: boolean): Promise<ServerPage> {
    const { assembly, config } = this.#options;
    const [{ servers, missing }, { lines }, counted] = await Promise.all([
      this.servers(),
      hasLines ? this.logs(name) : { lines: [] },
      assembly.ask('metrics', {}, countsOfProcess),
    ]);
    const server = servers.find((each) => each.name === name);
    if (server === undefined) throw unknownServer(name);
    const { mcpServers, profiles } = config();
    const settings = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
    const endpoints = [
      '/mcp',
      ...(hasEndpoint(config(), name as EndpointName, undefined) ? [`/mcp/${name}`] : []),
      ...Object.entries(profiles)
        .filter(([, { servers: chosen }]) => chosen?.includes(name) ?? true)
        .map(([profile]) => `/mcp/${profile}`),
    ];
    const tools = summaryOf(counted.said.map(({ body }) => body))
      .tools.filter((each) => each.server === name)
      .map(({ tool, rates }) => ({ tool, rates }));
    const command =
      settings?.command === undefined
        ? undefined
        : shownValues({
            config: { mcpServers: { [name]: { args: settings.args } } } as unknown as Config,
            ...this.#options.history.source,
          }).find(({ path }) => path.endsWith('.args'))?.value;
    return {
      server,
      lines,
      endpoints,
      tools,
      missing,
      ...(settings?.url === undefined ? {} : { address: cleanAddress(settings.url) }),
      ...(settings?.command === undefined
        ? {}
        : { command: [settings.command, ...(Array.isArray(command) ? command.map(String) : [])] }),
    };
  }

  /**
   * What each process knows of the lines of a server.
   * @param since the number of lines that were read before, by process: only later ones are answered.
   * @throws {ApiProblem} `unknown`
   */
  async lines(name: string, since: Readonly<Record<string, number>> = {}): Promise<Heard<LinesSaid>> {
    const heard = await this.#options.assembly.ask('lines', { server: name, since }, linesSaid);
    if (heard.said.length === 0 && !Object.hasOwn(this.#options.config().mcpServers, name)) throw unknownServer(name);
    return heard;
  }

  async logs(name: string): Promise<Logs> {
    const { said, missing } = await this.lines(name);
    return {
      server: name,
      lines: said
        .flatMap(({ process, body }) => body.lines.map((each) => ({ ...each, process })))
        .toSorted((one, other) => one.at.localeCompare(other.at)),
      missing,
    };
  }

  async restart(name: string): Promise<Restarted> {
    const { assembly } = this.#options;
    const places = placesOf(await assembly.ask('servers', {}, serversSaid)).get(name) ?? [];
    if (places.length === 0) {
      if (!Object.hasOwn(this.#options.config().mcpServers, name)) throw unknownServer(name);
      throw new ApiProblem(
        'conflict',
        `no process that answers is connected to ${name}`,
        'is it disabled, or is no process of the role backend there?',
      );
    }
    const { said, missing } = await assembly.ask('restart', { server: name }, done, actMs);
    return { server: name, done: said.filter(({ body }) => body.done).length, of: places.length, missing };
  }

  async catalogue({
    endpoint = '',
    cursor,
    ...looked
  }: {
    readonly endpoint?: string | undefined;
    readonly cursor?: string | undefined;
    readonly q?: string | undefined;
    readonly kind?: string | undefined;
    readonly server?: string | undefined;
  }): Promise<Catalogue> {
    const { assembly, config } = this.#options;
    const from = positionOf(cursor);
    const heard = await assembly.ask(
      'catalogue',
      {
        endpoint,
        from,
        limit: pageLength,
        ...Object.fromEntries(Object.entries(looked).filter(([, value]) => value !== undefined)),
      },
      cataloguePart,
      answerMs,
      surveyMs,
    );
    const [first] = heard.said.toSorted((one, other) => one.process.localeCompare(other.process));
    if (first === undefined) throw noEndpoint(config(), endpoint);
    return { ...first.body, endpoint, endpoints: endpointsOf(config()), missing: heard.missing };
  }

  async sessions({
    client,
    endpoint,
    cursor,
  }: {
    readonly client?: string | undefined;
    readonly endpoint?: string | undefined;
    readonly cursor?: string | undefined;
  }): Promise<Sessions> {
    const from = positionOf(cursor);
    const { rows, total, clients, missing } = await this.#sessions();
    const isWanted = (row: Pick<Sessions['sessions'][number], 'client' | 'endpoint'>): boolean =>
      (client === undefined || row.client?.name.toLowerCase().includes(client.toLowerCase()) === true) &&
      (endpoint === undefined || row.endpoint === endpoint);
    const found = rows.filter(isWanted);
    const isAll = client === undefined && endpoint === undefined;
    return {
      sessions: found.slice(from, from + pageLength),
      total: isAll ? total : found.length,
      ...(found.length > from + pageLength ? { next: String(from + pageLength) } : {}),
      clients: clients.filter(isWanted).slice(0, maxRecent),
      missing,
    };
  }

  async session(key: string): Promise<SessionPage> {
    const { rows } = await this.#sessions();
    const session = rows.find((row) => row.key === key);
    if (session === undefined)
      throw new ApiProblem(
        'unknown',
        'there is no such session: it has ended, or moves between two processes right now',
      );
    return { session };
  }

  async end(key: string): Promise<Ended> {
    const { said } = await this.#options.assembly.ask('session-end', { key }, endedSaid);
    if (said.some(({ body }) => body.ended)) return { ended: key };
    throw new ApiProblem('unknown', 'there is no such session: it has ended, or moves between two processes right now');
  }

  async metrics(): Promise<Summary> {
    const { said, missing } = await this.#options.assembly.ask('metrics', {}, countsOfProcess);
    return { at: new Date().toISOString(), ...summaryOf(said.map(({ body }) => body)), missing };
  }

  async configuration(): Promise<Configuration> {
    const { config, history, process: own } = this.#options;
    const { processes, missing } = await this.processes();
    return {
      ...history.state,
      digest: processes.find((each) => each.process === own)?.configuration ?? '',
      values: shownValues({ config: config(), ...history.source }),
      missing,
    };
  }

  async #sessions(): Promise<{
    readonly rows: Sessions['sessions'];
    readonly total: number;
    readonly clients: Sessions['clients'];
    readonly missing: Missing;
  }> {
    const { said, missing } = await this.#options.assembly.ask('sessions', {}, sessionsSaid);
    const rows = said.flatMap(({ process, body }) => body.sessions.map((row) => ({ ...row, process })));
    return {
      rows: rows.toSorted((one, other) => one.idleMs - other.idleMs || one.key.localeCompare(other.key)),
      total: said.reduce((sum, { body }) => sum + body.total, 0),
      clients: said
        .flatMap(({ process, body }) => body.clients.map((row) => ({ ...row, process })))
        .toSorted((one, other) => one.idleMs - other.idleMs),
      missing,
    };
  }
}

function namesOf({ mcpServers, profiles }: Config): readonly string[] {
  const servers = Object.keys(mcpServers).filter((name) => mcpServers[name]?.disabled !== true);
  return ['', ...servers, ...Object.keys(profiles)];
}

/** The endpoints of a configuration; the name of the one of all servers is empty. */
export function endpointsOf(config: Config): Catalogue['endpoints'] {
  return namesOf(config).map((name) => ({ name, path: name === '' ? '/mcp' : `/mcp/${name}` }));
}

/** The reason why no process knows an endpoint. */
export function noEndpoint(config: Config, endpoint: string): ApiProblem {
  return namesOf(config).includes(endpoint)
    ? new ApiProblem('starting', 'no process with the role session answers, and those know what clients are offered')
    : new ApiProblem('unknown', `there is no endpoint /mcp/${endpoint}`);
}

function unknownServer(name: string): ApiProblem {
  return new ApiProblem('unknown', `there is no server ${JSON.stringify(name.slice(0, 64))}`);
}

const roleOrder = ['supervisor', 'all', 'edge', 'session', 'backend'];
function order2(one: string, other: string): number {
  return roleOrder.indexOf(one) - roleOrder.indexOf(other);
}

/** @throws {ApiProblem} for a cursor that is none of ours. */
export function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,9}$/.test(cursor))
    throw new ApiProblem('invalid', 'the cursor is none of ours', 'take `next` of the page before');
  return Number(cursor);
}

function placesOf({ said }: Heard<z.output<typeof serversSaid>>): ReadonlyMap<string, readonly ServerPlace[]> {
  const places = new Map<string, ServerPlace[]>();
  for (const { process, body } of said)
    for (const { server, ...place } of body.servers)
      places.set(server, [...(places.get(server) ?? []), { process, ...place }]);
  return places;
}

function rowOf(
  name: string,
  settings: ServerConfig | undefined,
  places: readonly ServerPlace[],
  rates: ServerRow['rates'],
  config: Config,
): ServerRow {
  const best = order.flatMap((state) => places.filter((place) => place.state === state)).at(0);
  const state = settings?.disabled === true ? 'disabled' : (best?.state ?? 'unknown');
  const sum = (count: (place: ServerPlace) => number): number => places.reduce((all, place) => all + count(place), 0);
  const problem = best?.problem ?? (state === 'unknown' ? 'no process that connects to it answers' : undefined);
  const { since, era, revision, lastWords, signIns, repairs, unfit, ...found }: Partial<ServerPlace> = best ?? {};
  const { tools = 0, prompts = 0, resources = 0, leftOut = 0, held = 0, trouble } = found;
  const optional = {
    description: settings?.description,
    account: settings === undefined ? undefined : accountOf(settings, config),
    problem,
    since,
    era,
    revision,
    lastWords,
    rates,
    signIns,
    repairs,
    unfit,
    advice:
      state === 'down' && problem !== undefined
        ? adviceFor(trouble as ServerTrouble | undefined, settings?.command)
        : undefined,
  };
  return {
    name,
    state,
    transport: transportOf(settings),
    tools,
    prompts,
    resources,
    leftOut,
    held,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    running: sum(({ running }) => running),
    waiting: sum(({ waiting }) => waiting),
    connections: sum(({ connections }) => connections),
    places: [...places],
  };
}

/** A server that is down stays so: an additional pause does not change that. */
function withPause(row: ServerRow, pauses: readonly BlockRecord[]): ServerRow {
  const pause = pauses.find(({ name }) => name === row.name);
  if (pause === undefined) return row;
  const { by, at, until, because } = pause;
  const isDown = row.state === 'down' || row.state === 'disabled';
  return {
    ...row,
    ...(isDown ? {} : { state: 'paused' }),
    paused: {
      by,
      since: new Date(at).toISOString(),
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
      ...(because === undefined ? {} : { because }),
    },
  };
}

function transportOf(settings: ServerConfig | undefined): ServerRow['transport'] {
  if (settings === undefined) return 'http';
  const { url = '', command, type } = settings;
  if (url === '' && command !== undefined) return 'stdio';
  return /^wss?:/.test(url) ? 'websocket' : type === 'sse' ? 'sse' : 'http';
}
