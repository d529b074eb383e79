/** A field with the endpoints of the gateway, stored in the address of the page. */
import type { Catalogue } from '@omnibus/admin-api';
import { place, setQuery } from '../route.ts';

interface EndpointFieldProps {
  /** Empty until the gateway has answered. */
  readonly endpoints: Catalogue['endpoints'];
}

export function EndpointField({ endpoints }: EndpointFieldProps) {
  const endpoint = place.value.query.get('endpoint') ?? '';
  return (
    <label>
      Endpoint{' '}
      <select value={endpoint} onChange={(event) => setQuery({ endpoint: event.currentTarget.value })}>
        {endpoints.length === 0 && <option value={endpoint}>{endpoint === '' ? '/mcp' : endpoint}</option>}
        {endpoints.map(({ name, path }) => (
          <option key={name} value={name}>
            {path}
            {name === '' ? ' (all servers)' : ''}
          </option>
        ))}
      </select>
    </label>
  );
}
