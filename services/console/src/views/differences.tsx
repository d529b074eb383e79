/** The differences between a definition and the approved one, side by side, with the changed part of each text marked. */
import type { Deviation, Difference } from '@omnibus/admin-api';
import { Table } from '../parts/table.tsx';
import { Said } from '../parts/said.tsx';
import { count } from '../words.ts';
import { changedPart, valueText } from './changed-part.ts';

export function Differences({ differences = [], notShown = 0, name }: Deviation) {
  return (
    <>
      {differences.length > 0 && (
        <Table label={`What differs in ${name === '' ? 'the instructions' : name}`} head={['Where', 'Approved', 'Now']}>
          {differences.map((each) => (
            <Row key={each.at} {...each} />
          ))}
        </Table>
      )}
      {notShown > 0 && (
        <p class="warn-text">
          {count(notShown, 'more difference')} {notShown === 1 ? 'is' : 'are'} too long to be shown here:{' '}
          <code>omnibus definitions diff</code> at the process that talks to the server shows more.
        </p>
      )}
    </>
  );
}

function Row({ at, before, after }: Difference) {
  const where = (
    <td>
      {at === '' ? (
        <span class="dim">all of it</span>
      ) : (
        <code>
          <Said text={at} max={200} />
        </code>
      )}
    </td>
  );
  if (before === undefined || after === undefined)
    return (
      <tr>
        {where}
        <Side mark="del" text={before === undefined ? undefined : valueText(before)} />
        <Side mark="ins" text={after === undefined ? undefined : valueText(after)} />
      </tr>
    );
  const { head, tail, ...part } = changedPart(valueText(before), valueText(after));
  return (
    <tr>
      {where}
      <Side mark="del" head={head} text={part.before} tail={tail} />
      <Side mark="ins" head={head} text={part.after} tail={tail} />
    </tr>
  );
}

interface SideProps {
  readonly mark: 'del' | 'ins';
  /** The text that only this side has; undefined if the definition is not there on this side. */
  readonly text: string | undefined;
  /** The text before and after it, which both sides have. */
  readonly head?: string;
  readonly tail?: string;
}

function Side({ mark: Mark, text, head, tail }: SideProps) {
  return (
    <td class="side">
      {head !== undefined && <Said text={head} />}
      {text === undefined && <span class="dim">nothing</span>}
      {text !== undefined && (text !== '' || head === undefined) && (
        <Mark>
          <Said text={text} max={1_000} />
        </Mark>
      )}
      {tail !== undefined && <Said text={tail} />}
    </td>
  );
}
