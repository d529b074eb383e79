/** The class of Ajv for a schema's dialect: 2020-12 unless `$schema` says otherwise (2025-11-25 basic, JSON Schema Usage). */
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';

export function ajvClassOf(dialect: unknown): typeof Ajv | typeof Ajv2019 | typeof Ajv2020 {
  const name = typeof dialect === 'string' ? dialect : '';
  if (name.includes('draft-07') || name.includes('draft-06')) return Ajv;
  return name.includes('2019-09') ? Ajv2019 : Ajv2020;
}
