/** A list of flat objects as a table. */
import { Table } from '../parts/table.tsx';
import { Said } from '../parts/said.tsx';
import { asText, numberWords, plain } from '../words.ts';
import { maxRows, type Row } from './rows.ts';

export function Rows({ rows }: { readonly rows: readonly Row[] }) {
  const columns = [...new Set(rows.slice(0, maxRows).flatMap((row) => Object.keys(row)))];
  return (
    <>
      <Table label="Result as a table" head={columns.map((column) => plain(column).slice(0, 60))}>
        {rows.slice(0, maxRows).map((row, index) => (
          <tr key={index}>
            {columns.map((column) => (
              <td key={column} class={typeof row[column] === 'number' ? 'number' : undefined}>
                <Said text={row[column] === undefined ? '' : asText(row[column])} max={160} />
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {rows.length > maxRows && <p class="dim">{numberWords(rows.length - maxRows)} rows more: see them as JSON.</p>}
    </>
  );
}
