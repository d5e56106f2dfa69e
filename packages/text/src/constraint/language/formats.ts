// Long because it has the grammar of every format of JSON Schema, as a pattern.

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `(?:${OCTET}\\.){3}${OCTET}`;
const GROUP = '[0-9a-fA-F]{1,4}';
const TAIL = `(?:${GROUP}:${GROUP}|${IPV4})`;
/** RFC 3986, `IPv6address`. */
const IPV6 = `(?:${[
  `(?:${GROUP}:){6}${TAIL}`,
  `::(?:${GROUP}:){5}${TAIL}`,
  `(?:${GROUP})?::(?:${GROUP}:){4}${TAIL}`,
  `(?:(?:${GROUP}:){0,1}${GROUP})?::(?:${GROUP}:){3}${TAIL}`,
  `(?:(?:${GROUP}:){0,2}${GROUP})?::(?:${GROUP}:){2}${TAIL}`,
  `(?:(?:${GROUP}:){0,3}${GROUP})?::${GROUP}:${TAIL}`,
  `(?:(?:${GROUP}:){0,4}${GROUP})?::${TAIL}`,
  `(?:(?:${GROUP}:){0,5}${GROUP})?::${GROUP}`,
  `(?:(?:${GROUP}:){0,6}${GROUP})?::`,
].join('|')})`;

/** Years with a 29th of February: multiples of 4, without those of 100, with those of 400. */
const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|${LEAP_YEAR}-02-29)`;
const HOUR = '(?:[01][0-9]|2[0-3])';
const MINUTE = '[0-5][0-9]';
/** A leap second is the last second of a day in UTC; other time zones are left out. */
const TIME = `(?:${HOUR}:${MINUTE}:${MINUTE}(?:\\.[0-9]+)?(?:[Zz]|[+\\-]${HOUR}:${MINUTE})|23:59:60(?:\\.[0-9]+)?[Zz])`;
const TIME_OF_DURATION = 'T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)';
const DATE_OF_DURATION = '(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)';
const DURATION = `P(?:[0-9]+W|${DATE_OF_DURATION}(?:${TIME_OF_DURATION})?|${TIME_OF_DURATION})`;

const UNRESERVED = 'A-Za-z0-9\\-._~';
const DELIMITERS = "!$&'()*+,;=";
const PERCENT = '%[0-9A-Fa-f]{2}';
const SCHEME = '[A-Za-z][A-Za-z0-9+\\-.]*';
/** RFC 3987, `ucschar` in the first planes. */
const INTERNATIONAL =
  '\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}';

/** RFC 3986; `more` adds the characters of RFC 3987. */
function uri(kind: 'absolute' | 'reference', more = ''): string {
  const character = `(?:[${UNRESERVED}${more}${DELIMITERS}:@]|${PERCENT})`;
  const user = `(?:[${UNRESERVED}${more}${DELIMITERS}:]|${PERCENT})*@`;
  const name = `(?:[${UNRESERVED}${more}${DELIMITERS}]|${PERCENT})*`;
  const authority = `//(?:${user})?(?:\\[${IPV6}\\]|${name})(?::[0-9]*)?(?:/${character}*)*`;
  const absolute = `/(?:${character}+(?:/${character}*)*)?`;
  const rootless = `${character}+(?:/${character}*)*`;
  const after = `(?:\\?(?:${character}|[/?])*)?(?:#(?:${character}|[/?])*)?`;
  const whole = `${SCHEME}:(?:${authority}|${absolute}|${rootless})${after}`;
  if (kind === 'absolute') return whole;
  const noScheme = `(?:[${UNRESERVED}${more}${DELIMITERS}@]|${PERCENT})+(?:/${character}*)*`;
  return `(?:${whole}|(?:${authority}|${absolute}|${noScheme})?${after})`;
}

const WORD = '[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])?';
const SHORT_WORD = '[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,22}[a-zA-Z0-9])?';
/** RFC 1123, at most 253 characters: four labels of up to 62 characters, or ten of up to 24. */
const HOSTNAME = `(?:[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,60}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,60}[a-zA-Z0-9])?){0,3}|${SHORT_WORD}(?:\\.${SHORT_WORD}){0,9})`;
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+";
const EMAIL = `${ATOM}(?:\\.${ATOM})*@(?:${WORD}\\.)+${WORD}`;
const POINTER = '(?:/(?:[^~/]|~[01])*)*';
/** RFC 6570, without dots in names, on which validators disagree. */
const VARIABLE_CHARACTER = `(?:[A-Za-z0-9_]|${PERCENT})`;
const VARIABLE = `${VARIABLE_CHARACTER}+(?::[1-9][0-9]{0,3}|\\*)?`;
const URI_TEMPLATE = `(?:[!#$&(-;=?-\\[\\]_a-z~]|${PERCENT}|\\{[+#./;?&]?${VARIABLE}(?:,${VARIABLE})*\\})*`;
const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';
const HEX = '[0-9a-fA-F]';

/** String formats, each as the pattern of a whole text. Every text of a pattern is valid in its format. */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ['date', DATE],
  ['time', TIME],
  ['date-time', `${DATE}[Tt]${TIME}`],
  ['duration', DURATION],
  ['email', EMAIL],
  ['idn-email', EMAIL],
  ['hostname', HOSTNAME],
  ['idn-hostname', HOSTNAME],
  ['ipv4', IPV4],
  ['ipv6', IPV6],
  ['uri', uri('absolute')],
  ['url', uri('absolute')],
  ['uri-reference', uri('reference')],
  ['iri', uri('absolute', INTERNATIONAL)],
  ['iri-reference', uri('reference', INTERNATIONAL)],
  ['uri-template', URI_TEMPLATE],
  ['uuid', `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`],
  ['guid', `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`],
  ['json-pointer', POINTER],
  ['relative-json-pointer', `(?:0|[1-9][0-9]*)(?:#|${POINTER})`],
  ['byte', BASE64],
  ['base64', BASE64],
  ['base64url', '(?:[A-Za-z0-9_\\-]{4})*(?:[A-Za-z0-9_\\-]{2,3})?'],
  ['jwt', '[A-Za-z0-9_\\-]+\\.[A-Za-z0-9_\\-]+\\.[A-Za-z0-9_\\-]*'],
  ['nanoid', '[a-zA-Z0-9_\\-]{21}'],
  ['cuid', '[cC][0-9a-z]{8,30}'],
  ['cuid2', '[a-z][0-9a-z]{1,31}'],
  ['ulid', '[0-7][0-9A-HJKMNP-TV-Z]{25}'],
  ['xid', '[0-9a-v]{20}'],
  ['ksuid', '[A-Za-z0-9]{27}'],
  ['cidrv4', `${IPV4}/(?:[0-9]|[12][0-9]|3[0-2])`],
  ['cidrv6', `${IPV6}/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])`],
  ['e164', '\\+[1-9][0-9]{6,14}'],
  ['emoji', '(?:\\p{Extended_Pictographic}|\\p{Emoji_Component})+'],
]);

/**
 * Formats that allow every string: they say how a value is displayed or stored, or name checks of zod, which add a
 * pattern.
 */
export const FREE_FORMATS: ReadonlySet<string> = new Set([
  'password',
  'binary',
  'starts_with',
  'ends_with',
  'includes',
  'lowercase',
  'uppercase',
]);
