/** The API of one process: its own state, the questions to all processes, and the answers made from both. */
import { openApi, stateTopics, type Configuration, type Overview, type StateTopic } from '@omnibus/admin-api';
import type { Bus } from '@omnibus/bus';
import { enabledServers } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { version, type AdminQuestion, type AdminAnswer } from '@omnibus/protocol';
import type { AdminAct, AdminSite, Failures, Logger } from '@omnibus/telemetry';
import type { ActDetails } from '../act-records.ts';
import { connectWays } from './connect-ways.ts';
import { ApiProblem } from './api-problem.ts';
import { ApprovalsOfAll, type RawApprovals } from './approval-board.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { Assembly } from './assembly.ts';
import { AuditBoard } from './audit-board.ts';
import { AuditDesk } from './audit-desk.ts';
import { tellVerified } from './audit-verify.ts';
import { Board } from './board.ts';
import { connectionHandlers } from './connection-handlers.ts';
import type { ConfigHistory } from './config-history.ts';
import { DefinitionsOfAll } from './definition-board.ts';
import { definitionQuestions } from './definition-desk.ts';
import { findingsOf } from './findings.ts';
import { pauseServer, pausesOf, resumeServer } from './pauses.ts';
import { PolicyBoard } from './policy-board.ts';
import { ProcessDesk, type ProcessDeskOptions } from './process-desk.ts';
import { apiSite, rightsOf, type ApiRequest, type ApiSiteOptions, type Handlers } from './site.ts';
import { CallBoard } from './call-board.ts';
import { LogReaders } from './log-readers.ts';
import { historyOf, RateHistory } from './rate-history.ts';
import { replayOf } from './replay.ts';
import type { TapDesk } from './tap-desk.ts';
import { operatorHandlers, type OperatorHandlersOptions } from './operator-handlers.ts';
import { meteringHandlers, type Kept } from './metering-handlers.ts';
import { vaultHandlers } from './vault-handlers.ts';
import { approvalsFor, trustHandlers } from './trust-handlers.ts';
import { vaultQuestions } from './vault-desk.ts';
import type { SealingKeys } from '@omnibus/identity';
import type { VaultOperations } from '@omnibus/credentials';
import { configurationFor } from './shown-config.ts';
import type { RuleCompiler } from '../policy/decisions.ts';
import { Watches } from './watch.ts';

export interface OpenApiOptions
  extends Omit<ProcessDeskOptions, 'more'>, Omit<ApiSiteOptions, 'handlers'>, OperatorHandlersOptions {
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly history: ConfigHistory;
  readonly rules: RuleCompiler;
  readonly tapDesk: TapDesk;
  readonly failures: Failures;
  /** What is stored on the bus; undefined while the process is starting. */
  readonly kept: () => Kept | undefined;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  /** Undefined in a process that has not opened one. */
  readonly vaults: () => VaultOperations | undefined;
  /** Records a change in the audit, and logs it. */
  readonly note: (request: ApiRequest<'overview'>['request'], act: string, details: ActDetails) => void;
  /** Records a refused change in the audit. */
  readonly denied: (request: ApiRequest<'overview'>['request'], act: string, details: ActDetails) => void;
  readonly sealingKeys: SealingKeys | undefined;
  /** Undefined in a process that serves no clients. */
  readonly edgeBus: () => Bus | undefined;
  /** The id of a user who is in the file of this issuer now. */
  readonly userId: (issuer: string, subject: string) => string | undefined;
}

export interface Api {
  readonly site: AdminSite;
  /** What this process answers when all are asked. */
  readonly answer: (question: AdminQuestion) => Promise<AdminAnswer>;
  /** Asks and answers over the bus from now on. */
  start(bus: Bus): Promise<void>;
  stop(): void;
}

export function openAdminApi(options: OpenApiOptions): Api {
  const { process: own, config, access, history, wheel, log, onFault, note } = options;
  let joined: Bus | undefined;
  const hasCallers = (): boolean => config().auth !== undefined && config().auth !== 'none';
  const approvalDesk = new ApprovalDesk({
    wheel,
    process: own,
    bus: () => (options.sessions() === undefined ? undefined : joined),
    signedWith: () => (joined?.isShared === true && hasCallers() ? options.sealingKeys : undefined),
  });
  const rateHistory = new RateHistory(
    () => options.metrics.upstream.serverCounts(),
    wheel,
    (error) => onFault('rates could not be read', error),
  );
  const auditDesk = new AuditDesk({ process: own, config, baseFolder: options.baseFolder, bus: () => joined });
  const questions = {
    ...vaultQuestions(options.vaults),
    ...approvalDesk.questions,
    ...definitionQuestions(own, options.backend),
    ...rateHistory.questions,
    ...auditDesk.questions,
  };
  const desk = new ProcessDesk({
    ...options,
    more: {
      ...questions,
      'failure-count': () => ({ count: options.failures.latest.length }),
      failures: () => ({ failures: [...options.failures.latest] }),
    },
  });
  let assembly: Assembly | undefined;
  const board = (): Board => {
    if (assembly === undefined)
      throw new ApiProblem('starting', 'the process is starting, and has no bus yet', '/readyz says what it waits for');
    return new Board({ process: own, config, assembly, history, pauses: () => pausesOf(options.kept()?.blocks) });
  };
  const policyBoard = new PolicyBoard({
    process: own,
    config,
    history,
    rules: options.rules,
    catalogue: (asked) => board().catalogue(asked),
  });
  const assembled = (): Assembly => {
    board();
    return assembly as Assembly;
  };
  const callBoard = (): CallBoard => new CallBoard(assembled(), options.tapDesk);
  const approvals = (): ApprovalsOfAll =>
    new ApprovalsOfAll({
      assembly: assembled(),
      config,
      keys: options.sealingKeys,
      isShared: joined?.isShared === true,
    });
  const definitions = (): DefinitionsOfAll => new DefinitionsOfAll(assembled(), config);
  const auditBoard = (): AuditBoard => new AuditBoard({ process: own, config, assembly: assembled() });
  const overview = async (): Promise<Omit<Overview, 'console'>> => {
    const [processes, servers, configuration, sessions] = await Promise.all([
      board().processes(),
      board().servers(),
      board().configuration(),
      board().sessions({}),
    ]);
    const count = (of: (server: (typeof servers.servers)[number]) => number): number =>
      servers.servers.reduce((sum, server) => sum + of(server), 0);
    return {
      name: 'omnibus',
      version,
      process: own,
      at: new Date().toISOString(),
      findings: findingsOf({ processes, servers, configuration }),
      counts: {
        processes: processes.processes.length,
        missing: processes.missing.length,
        servers: servers.servers.length,
        up: count(({ state }) => (state === 'up' || state === 'asleep' ? 1 : 0)),
        down: count(({ state }) => (state === 'down' ? 1 : 0)),
        sessions: sessions.total,
        tools: count(({ tools }) => tools),
        prompts: count(({ prompts }) => prompts),
        resources: count(({ resources }) => resources),
        failures: processes.processes.reduce((sum, { failures }) => sum + failures, 0),
      },
      missing: processes.missing,
    };
  };
  const rights = (request: ApiRequest<'overview'>['request']): Overview['console'] => {
    const { roles, name } = access.of(request);
    return rightsOf(config(), roles, name);
  };
  const state: Readonly<Record<StateTopic, () => Promise<object>>> = {
    overview,
    processes: () => board().processes(),
    servers: () => board().servers(),
    sessions: () => board().sessions({}),
    metrics: () => board().metrics(),
    configuration: () => board().configuration(),
    approvals: () => approvals().list({}),
    definitions: () => definitions().list(),
  };
  const watches = new Watches(wheel, (topic) => state[topic](), onFault);
  const logReaders = new LogReaders(wheel, (server, since) => board().lines(server, since), onFault);
  const letIn = async (request: ApiRequest<'watch'>['request'], act: AdminAct): Promise<void> => {
    const refusal = await access.guard(request, request.url ?? '', act);
    if (refusal !== undefined) throw new ApiProblem('forbidden', refusal.text.trim());
  };
  const watch = async ({ request, response, query }: ApiRequest<'watch'>): Promise<undefined> => {
    const topics = new Set(
      (query.topics ?? 'calls')
        .split(',')
        .map((topic) => topic.trim())
        .filter((topic) => topic !== ''),
    );
    const unknown = [...topics].find(
      (topic) => topic !== 'calls' && topic !== 'logs' && !(stateTopics as readonly string[]).includes(topic),
    );
    if (unknown !== undefined || topics.size === 0)
      throw new ApiProblem(
        'invalid',
        `there is no topic ${JSON.stringify(unknown ?? '')}`,
        `calls, logs, ${stateTopics.join(', ')}`,
      );
    if (topics.has('logs') && query.server === undefined)
      throw new ApiProblem('invalid', 'the topic logs is about one server', 'add server=NAME');
    board();
    if (topics.has('logs')) await board().lines(query.server as string);
    const mayPayloads = query.payload !== 'none';
    const acts: readonly AdminAct[] = [
      'console',
      ...(topics.has('calls') ? ['calls' as const] : []),
      ...(topics.has('approvals') ? ['approvals.list' as const] : []),
      ...(mayPayloads ? ['payloads' as const] : []),
    ];
    for (const act of acts.slice(1)) await letIn(request, act);
    if (mayPayloads && !config().console.payloads)
      throw new ApiProblem(
        'mode',
        'arguments and results are shown to nobody here',
        'set console: { payloads: true } where an operator may see them',
      );
    if (mayPayloads)
      note(request, 'calls.payloads', {
        payload: query.payload,
        ...(Object.fromEntries(
          Object.entries(query).filter(
            ([name, value]) => ['server', 'tool', 'client'].includes(name) && value !== undefined,
          ),
        ) as Record<string, string>),
      });
    const { topics: _topics, rate, payload, ...filter } = query;
    const told = (send: (event: string, data: unknown) => void): (() => void) => {
      const endCalls = topics.has('calls')
        ? options.tapDesk.watch({
            filter,
            perSecond: rate,
            payload,
            told: (events, dropped) => send('calls', { events, dropped }),
          })
        : undefined;
      const endLogs = !topics.has('logs')
        ? undefined
        : logReaders.add(query.server as string, {
            told: (logs) => send('logs', logs),
            refused: ({ body }) => {
              send('refused', body);
              response.end();
            },
          });
      return () => {
        endCalls?.();
        endLogs?.();
      };
    };
    watches.open({
      request,
      response,
      who: access.of(request).name,
      topics,
      told,
      forReader: (topic, answer) => {
        const by = access.of(request);
        if (topic === 'overview') return { ...answer, console: rights(request) };
        if (topic === 'configuration') return configurationFor(answer as Configuration, by.roles);
        return topic === 'approvals' ? approvalsFor(by, answer as RawApprovals, approvals()) : answer;
      },
      check: async () => {
        for (const act of acts) await letIn(request, act);
      },
    });
    return undefined;
  };
  const handlers: Handlers = {
    overview: async ({ request }) => ({ ...(await overview()), console: rights(request) }),
    processes: () => board().processes(),
    servers: () => board().servers(),
    server: ({ given, query }) => board().server(given, query.lines === 'true'),
    logs: ({ given }) => board().logs(given),
    restart: async ({ request, given }) => {
      const done = await board().restart(given);
      note(request, 'restart', { server: given, done: done.done, of: done.of });
      return done;
    },
    pause: async ({ request, given, query: { forMs, because } }) => {
      const { servers } = await board().servers();
      const done = await pauseServer(options.kept()?.blocks, {
        server: given,
        isKnown: servers.some(({ name }) => name === given),
        by: access.of(request).name,
        forMs,
        because,
      });
      note(request, 'pause', { server: given, because, for_ms: forMs });
      return done;
    },
    resume: async ({ request, given }) => {
      const done = await resumeServer(options.kept()?.blocks, given);
      note(request, 'resume', { server: given });
      return done;
    },
    catalogue: ({ query }) => board().catalogue(query),
    connect: async ({ query: { endpoint } }) => {
      const { processes } = await board().processes();
      const listens = processes.find((each) => each.endpoint !== undefined)?.endpoint;
      const ways = connectWays({
        config: config(),
        listens,
        endpoint,
        program: [process.execPath, process.argv[1] ?? ''],
      });
      if (ways === undefined) throw new ApiProblem('unknown', `there is no endpoint /mcp/${endpoint}`);
      return ways;
    },
    sessions: ({ query }) => board().sessions(query),
    session: ({ given }) => board().session(given),
    end: async ({ request, given }) => {
      const ended = await board().end(given);
      note(request, 'sessions.end', { session: given });
      return ended;
    },
    configuration: async ({ request }) => configurationFor(await board().configuration(), access.of(request).roles),
    policy: ({ query }) => policyBoard.rules(query),
    explain: ({ query }) => policyBoard.explain(query),
    sees: ({ query }) => policyBoard.sees(query),
    audit: async ({ request, query }) => {
      const { cursor, limit: _limit, ...asked } = query;
      note(request, 'audit.search', { ...asked, isNextPage: cursor !== undefined });
      return auditBoard().search(query);
    },
    auditRecord: async ({ request, query }) => {
      const found = await auditBoard().record(query);
      note(request, 'audit.read', { writer: found.row.writer, seq: found.row.seq });
      return found;
    },
    auditVerify: async ({ request, response, query }) => {
      note(request, 'audit.verify', { writer: query.writer });
      await tellVerified(auditBoard(), query, response);
      return undefined;
    },
    metrics: () => board().metrics(),
    rates: ({ query }) => historyOf(assembled(), query.server),
    calls: ({ query }) => callBoard().calls(query),
    call: ({ given }) => callBoard().call(given),
    replay: async ({ given, query }) =>
      replayOf(await callBoard().call(given), query.server, (asked) => board().catalogue(asked)),
    failures: () => callBoard().failures(),
    ...connectionHandlers({ config, edgeBus: options.edgeBus, userId: options.userId, note }),
    ...meteringHandlers({ access, kept: options.kept, hasServer: (name) => enabledServers(config()).has(name), note }),
    ...operatorHandlers(options),
    ...vaultHandlers({ assembly: assembled, note }),
    ...trustHandlers({ access, approvals, definitions, note, denied: options.denied }),
    watch,
    openapi: () => Promise.resolve({ ...openApi(version) }),
  };
  return {
    site: apiSite({ ...options, handlers }),
    answer: desk.answer,
    async start(bus) {
      const made = new Assembly({ bus, wheel, log, answer: desk.answer });
      await made.start();
      await options.tapDesk.start(bus);
      assembly = made;
      joined = bus;
    },
    stop() {
      watches.stop();
      logReaders.stop();
      rateHistory.stop();
      options.tapDesk.stop();
      approvalDesk.stop();
      assembly?.stop();
    },
  };
}
