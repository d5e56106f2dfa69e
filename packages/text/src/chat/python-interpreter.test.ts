import { Template } from '@huggingface/jinja';
import { describe, expect, it } from 'vitest';
import { renderAsPython } from './python-interpreter.js';

const VALUES = {
  items: ['a', 'b', '', 'd'],
  numbers: [0, 1, 2, 3],
  pairs: [
    ['x', 1],
    ['y', 2],
  ],
  fields: { first: 'one', second: 'two' },
  messages: [{ role: 'user' }, { role: 'tool', name: null }, { role: 'assistant', done: true }],
  empty: [],
};

/** Loops and tests that the engine renders as Jinja2 does. */
const SOURCES = [
  '{% for x in items %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.length }} {% endfor %}',
  '{% for x in items %}{{ "<" if loop.first }}{{ x }}{{ ">" if loop.last else "," }}{% endfor %}',
  '{% for x in items %}{{ loop.previtem }}{{ "-" if loop.nextitem is defined else "." }}{% endfor %}',
  '{% for x in items %}{% if x == "b" %}{% continue %}{% endif %}{% if x == "d" %}{% break %}{% endif %}{{ x }}!{% endfor %}',
  '{% for x in empty %}{{ x }}{% else %}nothing{% endfor %}',
  '{% for x in items %}{% continue %}{% else %}nothing{% endfor %}',
  '{% for key, value in pairs %}{{ key }}={{ value }};{% endfor %}',
  '{% for key in fields %}{{ key }}{% endfor %}',
  '{% for x in numbers if x > 1 %}{{ loop.index }}:{{ x }} {% endfor %}',
  '{% for x in numbers %}{% for y in numbers %}{% if loop.index0 > x %}{{ y }}{% endif %}{% endfor %}|{{ loop.index }}{% endfor %}',
  '{% set ns = namespace(next="", at=-1) %}{% for m in messages %}{% if loop.index0 > 0 and ns.next == "" %}{% set ns.next = m.role %}{% set ns.at = loop.index0 %}{% endif %}{% endfor %}{{ ns.next }}{{ ns.at }}',
  '{% for m in messages %}{% if m.role == "tool" or m["done"] %}{{ m.role }}{% elif not m.name %}-{% endif %}{% endfor %}',
  '{% for m in messages %}{% if m["done"] == true %}yes{% endif %}{% if not m.done %}no{% endif %}{% endfor %}',
  '{% for x in numbers %}{% if x >= 1 and x <= 2 and x != 2 %}{{ x }}{% endif %}{% if x < 1 %}<{% endif %}{% endfor %}',
  '{% for x in items %}{% if x %}{{ x }}{% else %}_{% endif %}{% if x == 0 %}0{% endif %}{% endfor %}',
  '{% set loop = "outer" %}{% for x in items %}{% set x = "z" %}{% endfor %}{{ loop }}{{ x is defined }}',
];

describe('renderAsPython', () => {
  it.each(SOURCES)('runs %s as the engine does', (source) => {
    const template = new Template(source);
    const python = (text: string) => text.replaceAll('true', 'True').replaceAll('false', 'False');
    expect(renderAsPython(template, VALUES)).toBe(python(template.render(VALUES)));
  });

  it.each(['{% for x in text %}{% endfor %}', '{% set ns = namespace(a=1) %}{% for x in ns %}{% endfor %}'])(
    'refuses %s as the engine does',
    (source) => {
      const template = new Template(source);
      expect(() => renderAsPython(template, { text: 'abc' })).toThrow('Expected iterable or object type');
      expect(() => template.render({ text: 'abc' })).toThrow('Expected iterable or object type');
    },
  );
});
