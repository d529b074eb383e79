/** One server in the view "Trust": each definition that differs from the approved one, and approving it. */
import type {
  DefinitionsApproval,
  DefinitionsApproved,
  DefinitionsPage,
  Deviation,
  ServerDefinitions,
} from '@omnibus/admin-api';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { post, problemWords } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Confirm, Empty, Problem, Shown } from '../parts/basics.tsx';
import { may } from '../parts/may.ts';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Said } from '../parts/said.tsx';
import { Mode, State } from '../parts/state.tsx';
import { count, numberWords } from '../words.ts';
import { Differences } from './differences.tsx';

type Say = (words: string) => void;

export function OneServer({ name, say }: { readonly name: string; readonly say: Say }) {
  const page = useLive<DefinitionsPage>(`definitions/${encodeURIComponent(name)}`);
  return (
    <section class="detail" aria-label={`Definitions of ${name}`}>
      <Shown live={page}>{({ server }) => <Server server={server} say={say} />}</Shown>
    </section>
  );
}

const keyOf = ({ kind, name, digest }: Deviation): string => `${kind} ${name} ${digest}`;

function Server({ server, say }: { readonly server: ServerDefinitions; readonly say: Say }) {
  /** The first shown definitions: an approval is of these, whatever the server's later ones. */
  const [seen, see] = useState(server);
  /** Definitions approved here, which the gateway may still list for a moment. */
  const [approved, setApproved] = useState<ReadonlySet<string>>(new Set());
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const [now, shown] = [new Set(server.deviations.map(keyOf)), new Set(seen.deviations.map(keyOf))];
  const deviations = seen.deviations.filter((each) => now.has(keyOf(each)) && !approved.has(each.digest));
  const approve = async (chosen: readonly Deviation[]): Promise<void> => {
    const body: DefinitionsApproval = { approve: [...new Set(chosen.map(({ digest }) => digest))] };
    await post<DefinitionsApproved>(`definitions/${encodeURIComponent(server.server)}`, body);
    setApproved(new Set([...approved, ...body.approve]));
    say(
      `${chosen.length === 1 ? nameOf(chosen[0] as Deviation) : count(chosen.length, 'definition')} of ${server.server} ${chosen.length === 1 ? 'is' : 'are'} approved: clients are shown what the server says.`,
    );
    refresh();
    // The focused button disappears with the approved definition.
    heading.current?.focus();
  };
  return (
    <>
      <h2 tabIndex={-1} ref={heading}>
        {server.server}
      </h2>
      <p>
        <Mode mode={server.mode} /> {meanings[server.mode]}
      </p>
      {server.problem !== undefined && <Problem problem={server.problem} advice={undefined} />}
      <Signs {...server} />
      {server.deviations.some((each) => !shown.has(keyOf(each))) && (
        <div class="problem" role="alert">
          <State tone="warn" shape="!" word="the server says something else by now" /> than what is shown.{' '}
          <button type="button" onClick={() => see(server)}>
            Show what it says now
          </button>
        </div>
      )}
      {deviations.length > 0 ? (
        <Deviations
          deviations={deviations}
          more={server.more ?? 0}
          mode={server.mode}
          server={server.server}
          approve={approve}
        />
      ) : (
        server.mode !== 'off' && server.problem === undefined && <Empty why="All is as it was approved." />
      )}
    </>
  );
}

const meanings = {
  pin: 'Clients are shown what was approved, and nothing else of it.',
  warn: 'Clients are shown what the server says; changes are told of here, in the log and in a metric. With definitions: pin they are held back.',
  off: 'Nothing is compared: clients are shown whatever the server says. Add definitions: pin to the server to have changes held back.',
} as const;

/** A definition in words. */
function nameOf({ kind, name }: Deviation): string {
  return kind === 'instructions'
    ? 'instructions'
    : `${kind === 'tools' ? 'tool' : kind === 'prompts' ? 'prompt' : 'template'} ${name}`;
}

const suspicions = { shadowing: 'shadowing', 'look-alike': 'look-alike name', schema: 'costly schema' } as const;

function Signs({ signs }: ServerDefinitions) {
  if (signs.length === 0) return null;
  return (
    <section aria-label="Suspicious">
      <h3>
        Suspicious <span class="dim">beside the other servers; nothing is held back for it</span>
      </h3>
      <ul class="findings">
        {signs.map((sign, index) => (
          <li key={`${sign.name} ${index}`}>
            <State tone="warn" shape="!" word={suspicions[sign.kind] ?? sign.kind} />{' '}
            <code>
              <Said text={sign.name} max={100} />
            </code>
            : <Said text={sign.text} max={400} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface DeviationsProps extends Pick<ServerDefinitions, 'mode' | 'server'> {
  readonly deviations: readonly Deviation[];
  readonly more: number;
  readonly approve: (chosen: readonly Deviation[]) => Promise<void>;
}

/** Digests in one request. */
const most = 300;

function Deviations({ deviations, more, mode, server, approve }: DeviationsProps) {
  const [isAsking, setAsking] = useState(false);
  const { mayChange } = may();
  const all = deviations.slice(0, most);
  return (
    <>
      <div class="buttons">
        <OperatorButton act={() => setAsking(true)}>{`Approve all ${numberWords(all.length)}…`}</OperatorButton>
        {!mayChange && <span class="dim">You may look at it; operators and admins approve.</span>}
      </div>
      {deviations.map((each) => (
        <OneDeviation key={keyOf(each)} deviation={each} mode={mode} approve={approve} />
      ))}
      {more > 0 && <p class="dim">{numberWords(more)} more are not named here: approve some first.</p>}
      {isAsking && (
        <Confirm
          title={`Approve ${count(all.length, 'definition')} of ${server}?`}
          act="Approve all"
          close={() => setAsking(false)}
          run={async () => {
            await approve(all);
            return '';
          }}
        >
          <ul>
            {all.map((each) => (
              <li key={keyOf(each)}>
                <Said text={nameOf(each)} max={100} />
                {each.risks.length > 0 && (
                  <>
                    :{' '}
                    <span class="warn-text">
                      <Said text={each.risks.join('; ')} max={400} />
                    </span>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  );
}

const whys = {
  changed: 'changed',
  new: 'new',
  hiding: 'with hidden text',
  moved: 'of a server that is reached in another way',
} as const;

function OneDeviation({
  deviation,
  mode,
  approve,
}: {
  readonly deviation: Deviation;
  readonly mode: ServerDefinitions['mode'];
  readonly approve: DeviationsProps['approve'];
}) {
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const [isSent, setSent] = useState(false);
  const { isHeld, why, risks, digest } = deviation;
  const name = nameOf(deviation);
  const take = async (): Promise<void> => {
    setSent(true);
    try {
      await approve([deviation]);
    } catch (error) {
      setProblem(problemWords(error));
      setSent(false);
      refresh();
    }
  };
  return (
    <section class="deviation" aria-label={name}>
      <h3>
        <Said text={name} max={120} />
      </h3>
      <p>
        {isHeld ? (
          <State tone="ask" shape="?" word="held back" />
        ) : (
          <State tone="warn" shape="!" word={mode === 'pin' ? 'approved texts are shown' : 'shown as it is'} />
        )}{' '}
        {whys[why] ?? why}
      </p>
      {risks.length > 0 && (
        <ul class="findings">
          {risks.map((risk) => (
            <li key={risk}>
              <State tone="bad" shape="!" word="look at this" /> <Said text={risk} max={400} />
            </li>
          ))}
        </ul>
      )}
      <Differences {...deviation} />
      <div class="buttons">
        <OperatorButton isBusy={isSent} act={() => void take()}>
          {`Approve ${name.length > 60 ? `${name.slice(0, 60)}…` : name}`}
        </OperatorButton>
        <span class="dim">
          digest <code>{digest.slice(0, 16)}</code>
        </span>
      </div>
      {problem !== undefined && <Problem {...problem} />}
    </section>
  );
}
