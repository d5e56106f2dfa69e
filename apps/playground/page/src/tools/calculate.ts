const TOKEN = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|([-+*/()]))/y;
const LONGEST_EXPRESSION = 1000;

/**
 * Evaluates an arithmetic expression: numbers, + - * /, signs and parentheses.
 *
 * @throws RangeError for anything else, and for division by zero
 */
export function calculate(expression: string): number {
  const tokens = tokenize(expression.slice(0, LONGEST_EXPRESSION + 1));
  let next = 0;
  const value = sum();
  if (next < tokens.length) throw new RangeError(`unexpected ${tokens[next]} in ${expression}`);
  return value;

  function sum(): number {
    let left = product();
    for (;;) {
      if (take('+')) left += product();
      else if (take('-')) left -= product();
      else return left;
    }
  }

  function product(): number {
    let left = signed();
    for (;;) {
      if (take('*')) left *= signed();
      else if (take('/')) left = divide(left, signed());
      else return left;
    }
  }

  function signed(): number {
    if (take('-')) return -signed();
    if (take('+')) return signed();
    if (!take('(')) return number();
    const inner = sum();
    if (!take(')')) throw new RangeError(`missing closing parenthesis in ${expression}`);
    return inner;
  }

  function number(): number {
    const token = tokens[next];
    if (token === undefined) throw new RangeError(`${expression} is incomplete`);
    if (!/[\d.]/.test(token)) throw new RangeError(`unexpected ${token} in ${expression}`);
    next += 1;
    return Number(token);
  }

  function take(token: string): boolean {
    if (tokens[next] !== token) return false;
    next += 1;
    return true;
  }
}

function divide(left: number, right: number): number {
  if (right === 0) throw new RangeError('division by zero');
  return left / right;
}

function tokenize(expression: string): string[] {
  if (expression.length > LONGEST_EXPRESSION) throw new RangeError('the expression is too long');
  const text = expression.replaceAll('×', '*').replaceAll('÷', '/').trim();
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const begin = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new RangeError(`cannot read ${text.slice(begin)}`);
    tokens.push(match[1] ?? match[2]!);
  }
  return tokens;
}
