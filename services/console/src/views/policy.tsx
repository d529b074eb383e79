/** The view "Policy": decisions of the rules with their reasons, the entries that a caller sees, and the rules in force. */
import type { Explained, PolicyDecision, PolicyPage, PolicyRule, Sees as SeesAnswer } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { useOnce } from '../api/once.ts';
import { Empty, Heading, Problem, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { AskField, AskForm, AskOutcome, queryOf } from '../parts/filters.tsx';
import { may } from '../parts/may.ts';
import { Missing } from '../parts/missing.tsx';
import { usePages } from '../parts/pages.tsx';
import { Said } from '../parts/said.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { ForOthers } from '../parts/unknown-rights.tsx';
import { place } from '../route.ts';
import { count, numberWords } from '../words.ts';

const questions = ['who', 'what', 'args', 'from', 'at'] as const;
const filters = ['as', 'outcome', 'server', 'q'] as const;
const decided: Readonly<Record<PolicyDecision, readonly [Tone, string, string]>> = {
  allow: ['good', '✓', 'allowed'],
  ask: ['ask', '?', 'asks first'],
  deny: ['bad', '✗', 'denied'],
  hidden: ['off', '○', 'hidden'],
};

export function Policy() {
  if (may().mayPolicy) return <Whole />;
  return (
    <>
      <Heading>Policy</Heading>
      <ForOthers why="The rules are for the roles operator, auditor and admin." />
    </>
  );
}

function Whole() {
  const rules = useLive<PolicyPage>('policy');
  return (
    <>
      <Heading
        aside={
          rules.value !== undefined && (
            <span>
              {count(rules.value.total, 'rule')} of <code>{rules.value.file}</code>
            </span>
          )
        }
      >
        Policy
      </Heading>
      <Shown live={rules}>
        {(value) => (
          <>
            {value.isRecorded && (
              <p class="missing">
                <State tone="warn" shape="!" word="only recorded" /> nothing is refused or hidden by these rules (
                <code>mode: record</code>): what they would refuse is logged and counted.
              </p>
            )}
            {!value.hasRules && (
              <Empty why="There are no rules: every caller may use everything.">
                Write some under <code>access</code>, and try them here before they are used:{' '}
                <code>omnibus policy explain</code>.
              </Empty>
            )}
            {(value.hasRules || value.guardrails.length > 0) && (
              <>
                <Explain />
                <Sees />
              </>
            )}
            {value.hasRules && <Rules first={value} />}
            {value.guardrails.length > 0 && (
              <p>
                Guardrails:{' '}
                {value.guardrails
                  .map(({ id, isRecorded }) => `${id}${isRecorded ? ' (only recorded)' : ''}`)
                  .join(', ')}
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Outcome({ outcome, isRecorded }: { readonly outcome: PolicyDecision; readonly isRecorded: boolean }) {
  const [tone, shape, word] = decided[outcome];
  return (
    <>
      <State tone={tone} shape={shape} word={word} />
      {isRecorded && outcome !== 'allow' && <span class="dim"> would be; only recorded</span>}
    </>
  );
}

/** The caller, and the address of the page for it. */
const whoHelp = 'group:eng, key:ci, user:ISSUER|SUBJECT, nobody';

function Explain() {
  const { query } = place.value;
  const isAsked = (query.get('who') ?? '') !== '' && (query.get('what') ?? '') !== '';
  const answer = useOnce<Explained>(isAsked ? `policy/explain?${queryOf(questions)}` : undefined);
  return (
    <section aria-label="May somebody do something">
      <h2>May somebody do something?</h2>
      <AskForm label="Question to the rules" names={questions} act="Explain" sent={answer.again}>
        <AskField label="Who" name="who" required placeholder={whoHelp} size={32} />
        <AskField label="What" name="what" required placeholder="server/tool, prompt:…, resource:…" size={28} />
        <AskField label="Arguments" name="args" placeholder={'{"amount": 20}'} size={16} />
        <AskField label="From" name="from" placeholder="10.1.2.3" size={10} />
        <AskField label="At" name="at" placeholder="now" size={20} />
      </AskForm>
      {answer.problem !== undefined && <Problem {...answer.problem} />}
      <div aria-live="polite">{answer.value !== undefined && <Decision {...answer.value} />}</div>
      {answer.value !== undefined && <Reasons {...answer.value} />}
    </section>
  );
}

function Decision({ who, what, outcome, isRecorded, rule, because, redacted, guardrails }: Explained) {
  return (
    <p>
      <Said text={`${who} ${what}`} />: <Outcome outcome={outcome} isRecorded={isRecorded} />{' '}
      {rule === undefined ? (
        'by default'
      ) : (
        <>
          by the rule <code>{rule}</code>
        </>
      )}
      {because !== undefined && (
        <>
          {' '}
          (<Said text={because} />)
        </>
      )}
      {redacted !== undefined && (
        <>
          , with a part of results taken out by <code>{redacted}</code>
        </>
      )}
      {guardrails.length > 0 && (
        <>
          ; looked at by{' '}
          {guardrails
            .map(
              ({ id, action, on, isRecorded: isOnlyRecorded }) =>
                `${id} (${on.join(', ')}: ${action}${isOnlyRecorded ? ', only recorded' : ''})`,
            )
            .join(', ')}
        </>
      )}
      .
    </p>
  );
}

/** The rule that decided first, then those that match, then the others. */
function Reasons({ rules, rule, outcome }: Explained) {
  if (rules.length === 0) return null;
  // A rule that asks is two rules: one that allows, and one that asks.
  const decisive =
    rules.find((each) => each.id === rule && each.effect === outcome) ?? rules.find((each) => each.id === rule);
  const rank = (each: Explained['rules'][number]): number => (each === decisive ? 0 : each.isMatch ? 1 : 2);
  return (
    <Table label="What each rule says" head={['Rule', 'Effect', 'Why']}>
      {rules
        .toSorted((one, other) => rank(one) - rank(other))
        .map((each, index) => (
          <tr key={`${each.id} ${index}`} class={each === decisive ? 'chosen' : undefined}>
            <td>
              <code>{each.id}</code>
              {each === decisive && ' decided'}
            </td>
            <td>{each.effect}</td>
            <td>{each.why}</td>
          </tr>
        ))}
    </Table>
  );
}

function Sees() {
  const { query } = place.value;
  const asked = query.get('as') ?? '';
  const path = (cursor?: string): string =>
    `policy/sees?${queryOf(['outcome', 'server', 'q'], { who: asked, cursor })}`;
  const first = useOnce<SeesAnswer>(asked === '' ? undefined : path());
  return (
    <section aria-label="What somebody is shown">
      <h2>What is somebody shown?</h2>
      <AskForm label="Whose view" names={filters} act="Show" sent={first.again}>
        <AskField label="As" name="as" required placeholder={whoHelp} size={32} />
        <AskOutcome words={decided} />
        <AskField label="Server" name="server" placeholder="any" size={12} />
        <AskField label="Words" name="q" placeholder="part of a name" size={14} />
      </AskForm>
      {first.problem !== undefined && <Problem {...first.problem} />}
      {first.value !== undefined && <SeenPages key={path()} first={first.value} path={path} />}
    </section>
  );
}

function SeenPages({ first, path }: { readonly first: SeesAnswer; readonly path: (cursor: string) => string }) {
  const { pages, more } = usePages(first, path);
  const rows = pages.flatMap((page) => page.rows);
  const looked = pages.reduce((sum, page) => sum + page.looked, 0);
  return (
    <>
      <Missing missing={first.missing} />
      {rows.length === 0 ? (
        <Empty
          why={
            first.total === 0
              ? 'No server offers anything that fits.'
              : 'Nothing with this outcome is among what was looked at.'
          }
        />
      ) : (
        <Table label="What it is shown" head={['Server', 'Name', 'Kind', 'Outcome', 'By']}>
          {rows.map((row) => (
            <SeenRow key={`${row.kind} ${row.server}/${row.name}`} row={row} isRecorded={first.isRecorded} />
          ))}
        </Table>
      )}
      <p class="dim">
        {numberWords(looked)} of {numberWords(first.total)} entries were looked at. A key that is made for certain tools
        may use fewer, and blocks and limits count besides.
      </p>
      {more('More')}
    </>
  );
}

function SeenRow({
  row: { kind, server, name, outcome, isConditional, rule, redacted },
  isRecorded,
}: {
  readonly row: SeesAnswer['rows'][number];
  readonly isRecorded: boolean;
}) {
  return (
    <tr>
      <td>{server}</td>
      <td>
        <Said text={name} max={120} />
      </td>
      <td>{kind}</td>
      <td class="nowrap">
        <Outcome outcome={outcome} isRecorded={isRecorded} />
        {isConditional && <span class="dim"> without arguments; depends on conditions</span>}
      </td>
      <td>
        {rule === undefined ? <span class="dim">default</span> : <code>{rule}</code>}
        {redacted !== undefined && (
          <>
            {' '}
            · redacted by <code>{redacted}</code>
          </>
        )}
      </td>
    </tr>
  );
}

function Rules({ first }: { readonly first: PolicyPage }) {
  const { pages, more } = usePages(first, (cursor) => `policy?cursor=${encodeURIComponent(cursor)}`);
  return (
    <section aria-label="Rules in force">
      <h2>
        Rules in force{' '}
        <span class="dim">
          {first.version !== undefined && `version ${first.version}, `}at {first.process}; by default: {first.default}
        </span>
      </h2>
      {first.total === 0 ? (
        <Empty
          why={`No rule is written, so ${first.default === 'deny' ? 'nobody may use anything' : 'everybody may use everything'}.`}
        />
      ) : (
        <Table label="Rules" head={['Rule', 'Effect', 'Who', 'What', 'Under which conditions', 'From']}>
          {pages
            .flatMap((page) => page.rules)
            .map((rule) => (
              <Row key={rule.id} {...rule} />
            ))}
        </Table>
      )}
      {more('More')}
      <p class="dim">
        A rule that denies overrides every rule that asks, and one that asks overrides every rule that allows; their
        order means nothing.
      </p>
    </section>
  );
}

function Row({ id, effect, who, except, what, conditions, terms, because, place: from }: PolicyRule) {
  return (
    <tr>
      <td class="words">
        <code>{id}</code>
      </td>
      <td>{effect}</td>
      <td class="wide">
        <Said text={who} max={200} />
        {except !== undefined && (
          <>
            {' '}
            except <Said text={except} max={200} />
          </>
        )}
      </td>
      <td class="wide">
        <Said text={what.join(', ')} max={200} />
      </td>
      <td class="wide">
        <Said
          text={
            [
              ...conditions,
              ...(terms === undefined ? [] : [terms]),
              ...(because === undefined ? [] : [`“${because}”`]),
            ].join('; ') || '–'
          }
          max={300}
        />
      </td>
      <td>{from === undefined ? '–' : <code>{from}</code>}</td>
    </tr>
  );
}
