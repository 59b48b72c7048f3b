from shuffledp.core.caching import compiled, plain_until_worth_compiling, with_disk_cache


def double(number):
    return 2 * number


def double_and_one(number):
    return double(number) + 1


def test_a_kernel_calls_plain_functions_that_are_named_to_it():
    kernel = compiled(double_and_one, calls=(double,))
    assert kernel(20) == 41
    assert kernel.__name__ == "double_and_one"


def test_the_plain_function_serves_the_first_items_and_the_compiled_one_the_rest():
    choose = plain_until_worth_compiling("plain", "compiled", items=10)
    assert [choose(size) for size in (4, 6, 1, 0)] == ["plain", "plain", "compiled", "compiled"]
    assert plain_until_worth_compiling("plain", "compiled", items=10)(11) == "compiled"


def test_a_kernel_is_compiled_without_a_cache_where_none_can_be_written():
    def compiler(cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled in memory", function)

    assert with_disk_cache(compiler, double) == ("compiled in memory", double)
