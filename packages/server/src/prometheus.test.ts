import { expect, it } from 'vitest';
import { Counter, Gauge, Histogram } from './prometheus.js';

it('a counter adds up per combination of labels', () => {
  const counter = new Counter('requests_total', 'Requests');
  counter.add({ route: '/', status: '200' });
  counter.add({ route: '/', status: '200' }, 2);
  counter.add({ route: '/', status: '404' });
  expect(counter.text()).toBe(
    '# HELP requests_total Requests\n# TYPE requests_total counter\n' +
      'requests_total{route="/",status="200"} 3\nrequests_total{route="/",status="404"} 1\n',
  );
});

it('a counter without values is only described', () => {
  expect(new Counter('a_total', 'A').text()).toBe('# HELP a_total A\n# TYPE a_total counter\n');
});

it('a gauge reads its values each time', () => {
  let value = 1;
  const gauge = new Gauge('running', 'Running', () => [[{}, value]]);
  expect(gauge.text()).toBe('# HELP running Running\n# TYPE running gauge\nrunning 1\n');
  value = 2.5;
  expect(gauge.text()).toMatch(/^running 2\.5$/m);
});

it('a histogram counts values up to and including each bound', () => {
  const histogram = new Histogram('seconds', 'Time', [0.5, 1]);
  for (const value of [0.5, 0.75, 3]) histogram.observe({ model: 'a' }, value);
  expect(histogram.text().split('\n').slice(2)).toEqual([
    'seconds_bucket{le="0.5",model="a"} 1',
    'seconds_bucket{le="1",model="a"} 2',
    'seconds_bucket{le="+Inf",model="a"} 3',
    'seconds_sum{model="a"} 4.25',
    'seconds_count{model="a"} 3',
    '',
  ]);
});

it('escapes what would end a label or a line', () => {
  const counter = new Counter('a', 'two\nlines \\ here');
  counter.add({ model: 'C:\\models\\"mine"\n' });
  expect(counter.text()).toBe(
    '# HELP a two\\nlines \\\\ here\n# TYPE a counter\na{model="C:\\\\models\\\\\\"mine\\"\\n"} 1\n',
  );
});
