/** One server of the view "Servers", with its lines of stderr. */
import type { Paused, Restarted, ServerPage, ServerRow } from '@omnibus/admin-api';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { post, problemWords } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { LogWatch } from '../api/logs.ts';
import { Ago, Confirm, Empty, Fact, Shown } from '../parts/basics.tsx';
import { useBrought } from '../parts/brought.ts';
import { Missing } from '../parts/missing.tsx';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Rates } from '../parts/rates.tsx';
import { Said, Sentence, Target } from '../parts/said.tsx';
import { ServerState } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { hrefOf } from '../route.ts';
import { clock, count } from '../words.ts';
import { ChangeServer } from './change-server.tsx';

/** One server: its problems and fixes, the processes connected to it, and its lines. */
export function OneServer({ name }: { readonly name: string }) {
  const page = useLive<ServerPage>(`servers/${encodeURIComponent(name)}?lines=false`);
  const [asking, setAsking] = useState<keyof typeof acts>();
  const [done, setDone] = useState<string>();
  const brought = useBrought();
  return (
    <section class="detail" ref={brought} aria-label={`Server ${name}`}>
      <h2>{name}</h2>
      <Shown live={page}>
        {(value) => (
          <>
            <Why {...value} />
            <Acts server={value.server} ask={setAsking} say={setDone} />
            <p role="status">{done}</p>
            <ChangeServer name={name} done={setDone} />
            <Rates server={name} />
            <Places {...value} />
            <Lines server={name} />
          </>
        )}
      </Shown>
      {asking !== undefined && (
        <Confirm
          title={`${acts[asking].word} ${name}?`}
          act={acts[asking].word}
          run={() => acts[asking].run(name)}
          close={(said) => {
            setAsking(undefined);
            setDone(said);
          }}
        >
          <p>{acts[asking].effect}</p>
        </Confirm>
      )}
    </section>
  );
}

/** Acts that affect others, so that the user confirms them. */
const acts = {
  restart: {
    word: 'Restart',
    effect:
      'Its connections are closed and made anew. Calls that run there fail, and whatever it keeps in memory is lost.',
    run: async (name: string): Promise<string> => {
      const { done: by, of } = await post<Restarted>(`servers/${encodeURIComponent(name)}/restart`);
      refresh();
      return `${by} of ${count(of, 'process', 'processes')} connected to it anew.`;
    },
  },
  pause: {
    word: 'Pause',
    effect:
      'Nothing new is sent to it, in no process, until somebody resumes it. Calls that run there go on; new ones are refused, and told why.',
    run: async (name: string): Promise<string> => {
      await post<Paused>(`servers/${encodeURIComponent(name)}/pause`);
      refresh();
      return 'It is paused.';
    },
  },
} as const;

interface ActsProps {
  readonly server: ServerRow;
  readonly ask: (act: keyof typeof acts) => void;
  readonly say: (done: string) => void;
}

function Acts({ server: { name, paused }, ask, say }: ActsProps) {
  const resume = async (): Promise<void> => {
    try {
      await post<Paused>(`servers/${encodeURIComponent(name)}/resume`);
      say('It is not paused any more.');
    } catch (error) {
      say(problemWords(error).problem);
    }
    refresh();
  };
  return (
    <div class="buttons">
      <OperatorButton act={() => ask('restart')}>Restart…</OperatorButton>
      {paused === undefined ? (
        <OperatorButton act={() => ask('pause')}>Pause…</OperatorButton>
      ) : (
        <OperatorButton act={() => void resume()}>Resume</OperatorButton>
      )}
      <a class="button" href={hrefOf('catalogue', undefined, { server: name })}>
        Its tools
      </a>
      <a class="button" href={hrefOf('calls', undefined, { server: name })}>
        Its calls
      </a>
    </div>
  );
}

/** The problems of a server, with the last words of its program where it does not serve. */
export function reasonOf({ state, problem, lastWords }: ServerRow): string {
  if (problem === undefined || lastWords === undefined || state === 'up') return problem ?? lastWords ?? '';
  return problem.includes(lastWords) ? problem : `${problem}: ${lastWords}`;
}

function Why(page: ServerPage) {
  const { state, paused, advice } = page.server;
  return (
    <>
      <p>
        <ServerState state={state} />{' '}
        {page.server.problem !== undefined && <Said text={reasonOf(page.server)} max={1_000} />}
      </p>
      {paused !== undefined && (
        <p>
          Paused by <Said text={paused.by} /> <Ago at={paused.since} />
          {paused.until !== undefined && `, until ${paused.until}`}
          {paused.because !== undefined && (
            <>
              : <Said text={paused.because} />
            </>
          )}
          . Nothing new is sent to it; what runs there goes on.
        </p>
      )}
      {advice !== undefined && (
        <p class="advice">
          → <Sentence text={advice} max={1_000} />
        </p>
      )}
      <Facts {...page} />
    </>
  );
}

function Facts({ server, address, command, endpoints }: ServerPage) {
  const { unfit = [], repairs = [] } = server;
  return (
    <dl>
      <Fact name="Speaks">
        {server.revision ?? 'a revision that is not known yet,'}
        {server.era !== undefined && ` (${server.era})`} over {server.transport}
      </Fact>
      {address !== undefined && (
        <Fact name="Address">
          <Target address={address} />
        </Fact>
      )}
      {command !== undefined && (
        <Fact name="Program">
          <code>
            <Said text={command.join(' ')} />
          </code>
        </Fact>
      )}
      <Fact name="Offers">
        <Offers {...server} />
      </Fact>
      {unfit.length > 0 && (
        <Fact name="Left out">
          {unfit.map(({ kind, name, problem }, index) => (
            <div key={index}>
              <Said text={`${kind}${name === undefined ? '' : ` ${name}`}: ${problem}`} max={300} />
            </div>
          ))}
        </Fact>
      )}
      {repairs.length > 0 && (
        <Fact name="Repairs">
          {repairs.map(({ repair, reads, count: times, example }) => (
            <div key={repair}>
              The gateway reads {reads}: {count(times, 'time')}, as at <Said text={example} max={200} />
            </div>
          ))}
        </Fact>
      )}
      <Fact name="Shown at">
        {endpoints.length === 0 ? 'no endpoint' : endpoints.map((endpoint) => <code key={endpoint}>{endpoint} </code>)}
      </Fact>
    </dl>
  );
}

function Offers({ name, tools, prompts, resources, leftOut, held }: ServerRow) {
  return (
    <>
      {count(tools, 'tool')}, {count(prompts, 'prompt')}, {count(resources, 'resource')}
      {leftOut > 0 && `; ${leftOut} more do not fit and are in no list`}
      {held > 0 && (
        <>
          ;{' '}
          <a href={hrefOf('trust', name)}>
            {held} {held === 1 ? 'waits' : 'wait'} to be approved
          </a>
        </>
      )}
    </>
  );
}

function Places({ server }: ServerPage) {
  if (server.places.length === 0) return <Empty why="No process is connected to it." />;
  return (
    <Table label="Processes connected to it" head={['Process', 'State', 'Runs / waits', 'Connections', 'Problem']}>
      {server.places.map((each) => (
        <tr key={each.process}>
          <td>
            <code>{each.process}</code>
          </td>
          <td>
            <ServerState state={each.state} />
          </td>
          <td class="number">
            {each.running} / {each.waiting}
          </td>
          <td class="number">{each.connections + 1}</td>
          <td class="wide">
            <Said text={each.problem ?? ''} max={200} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Lines({ server }: { readonly server: string }) {
  const watch = useMemo(() => new LogWatch(server), [server]);
  useEffect(() => () => watch.end(), [watch]);
  const { lines, dropped, missing, problem } = watch.state.value;
  return (
    <details open>
      <summary>
        Last words <span class="dim">(stderr, without secrets, as they come)</span>
      </summary>
      {problem !== undefined && (
        <p role="status">
          New lines are not shown now: <Said text={problem.problem} max={500} /> {problem.advice}
        </p>
      )}
      <Missing missing={missing} />
      {dropped > 0 && (
        <p class="dim">
          {count(dropped, 'line')} of those that came meanwhile {dropped === 1 ? 'is' : 'are'} not shown, because more
          were written than are kept.
        </p>
      )}
      {lines === undefined && problem === undefined && <p class="waiting">asking…</p>}
      {lines?.length === 0 && <Empty why="It has written nothing, or is no program of ours." />}
      {lines !== undefined && lines.length > 0 && (
        <ol class="lines" tabIndex={0} aria-label="Last words">
          {lines.map((line, index) => (
            <li key={`${line.at} ${index}`}>
              <time class="dim" dateTime={line.at} title={line.at}>
                {clock(Date.parse(line.at))}
              </time>{' '}
              <Said text={line.text} max={2_000} />
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}
