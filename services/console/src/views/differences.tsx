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
  if (before === undefined || after === undefined) {
    return (
      <tr>
        {where}
        <td class="side">
          {before === undefined ? (
            <span class="dim">nothing</span>
          ) : (
            <del>
              <Said text={valueText(before)} max={1_000} />
            </del>
          )}
        </td>
        <td class="side">
          {after === undefined ? (
            <span class="dim">nothing</span>
          ) : (
            <ins>
              <Said text={valueText(after)} max={1_000} />
            </ins>
          )}
        </td>
      </tr>
    );
  }
  const part = changedPart(valueText(before), valueText(after));
  return (
    <tr>
      {where}
      <td class="side">
        <Said text={part.head} />
        {part.before !== '' && (
          <del>
            <Said text={part.before} max={1_000} />
          </del>
        )}
        <Said text={part.tail} />
      </td>
      <td class="side">
        <Said text={part.head} />
        {part.after !== '' && (
          <ins>
            <Said text={part.after} max={1_000} />
          </ins>
        )}
        <Said text={part.tail} />
      </td>
    </tr>
  );
}
